package io.snapline.snapshot.store

import java.io.File
import java.nio.file.Files

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.snapline.snapshot.format.TableFile
import io.snapline.storage._

/** The storages every promise is kept on. A store is named by its folder, whether there is one on the disk or not. */
trait TestStorage {
  def plain(folder: File): CheckpointStorage

  /** The same files, with what the plan of `run` has in store. */
  def faulty(folder: File): CheckpointStorage

  def run[A](plan: FaultPlan)(body: => A): A

  /** Names in the order they were made since `run`; those that existed are marked. */
  def created: Seq[String]

  /** What is done with a file of each kind, by the names that a plan has for it. */
  def operations: Seq[String]

  def makesSense(operation: String, fault: Fault): Boolean = FaultPlan.makesSense(operation, fault)

  def files(folder: File): StoredFiles

  /** Forgets the store. */
  def remove(folder: File): Unit = ()
}

/** The way to a store's files past all checks. Names are relative to its folder. */
trait StoredFiles {

  /** And how long they are. */
  def lengths: Map[String, Long]
  def bytes(name: String): Array[Byte]

  /** Over what is there. */
  def write(name: String, bytes: Array[Byte]): Unit
  def delete(name: String): Unit

  final def names: Seq[String] = lengths.keys.toSeq.sorted
  final def tables: Seq[String] = names.filter(_.startsWith(s"${TableFile.Folder}/"))
}

object TestStorage {
  object OnDisk extends TestStorage {
    override def plain(folder: File): CheckpointStorage =
      new HadoopCheckpointStorage(new Path(folder.toURI), new Configuration)
    override def faulty(folder: File): CheckpointStorage = FaultyFileSystem.over(plain(folder))
    override def run[A](plan: FaultPlan)(body: => A): A = FaultyFileSystem.run(plan)(body)
    override def created: Seq[String] = FaultyFileSystem.created.toArray.toSeq.map(_.toString)
    override val operations: Seq[String] = Seq("create", "write", "close", "open", "read")

    override def files(folder: File): StoredFiles = new StoredFiles {
      override def lengths: Map[String, Long] = Seq("", s"${TableFile.Folder}/").flatMap { below =>
        val files = Option(new File(folder, below).listFiles()).toSeq.flatten.filter(_.isFile)
        files.map(file => s"$below${file.getName}" -> file.length)
      }.toMap
      override def bytes(name: String): Array[Byte] = Files.readAllBytes(new File(folder, name).toPath)
      override def write(name: String, bytes: Array[Byte]): Unit =
        Files.write(new File(folder, name).toPath, bytes): Unit
      override def delete(name: String): Unit = Files.delete(new File(folder, name).toPath)
    }
  }
}
