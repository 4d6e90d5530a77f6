package io.snapline.spark.provider

import java.io.File
import java.nio.file.Files

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.snapline.snapshot.format.VersionRef
import io.snapline.snapshot.store._
import io.snapline.state.{FamilyDescriptor, KeyedBackend, LocalFolder}
import io.snapline.state.rocksdb.{RocksDbBackend, RocksDbSettings}
import io.snapline.state.rowtable.PageMemory
import io.snapline.storage.HadoopCheckpointStorage

/** The keys of one state of one partition, as they lie in storage. */
final case class StoredKeys(
    operator: Int,
    partition: Int,
    store: String,
    family: FamilyDescriptor,
    keys: Seq[Array[Byte]]
)

object StoredKeys {

  /** All states of the newest version of every store of a checkpoint, read without Spark. */
  def of(checkpoint: File): Seq[StoredKeys] = for {
    operator <- folders(new File(checkpoint, "state")) if operator.getName.forall(_.isDigit)
    partition <- folders(operator) if partition.getName.forall(_.isDigit)
    store <- (partition +: folders(partition)).filter(holdsState)
    (family, keys) <- read(store)
  } yield {
    val name = if (store == partition) "" else store.getName
    StoredKeys(operator.getName.toInt, partition.getName.toInt, name, family, keys)
  }

  private def folders(of: File): Seq[File] = Option(of.listFiles()).toSeq.flatten.filter(_.isDirectory).sorted

  private def holdsState(folder: File): Boolean = folder.list().exists(VersionRef.parse(_).isDefined)

  private def read(folder: File): Seq[(FamilyDescriptor, Seq[Array[Byte]])] = {
    val local = Files.createTempDirectory("stored").toFile
    val pages = new PageMemory(16L << 20)
    val factory = new BackendFactory {
      override def kind: String = RocksDbBackend.Kind
      override def newFolder(): File = new File(local, "db")
      override def open(at: File, restored: Boolean): KeyedBackend =
        new RocksDbBackend(at, restored, RocksDbSettings(), TestBackend.memory, pages)
    }
    val storage = new HadoopCheckpointStorage(new Path(folder.toURI), new Configuration)
    val state = new VersionedState(
      StoreContext(storage, StateSettings(), StoreFixture.origin),
      factory,
      StoreFixture.pool,
      _ => ()
    )
    try {
      state.load(folder.list().flatMap(VersionRef.parse(_)).map(_._1.version).max, None)
      state.backend.families.map { family =>
        val cursor = family.iterate()
        family.descriptor -> Iterator.continually(cursor).takeWhile(_.next()).map(_.key).toVector
      }
    } finally {
      state.close()
      LocalFolder.delete(local)
    }
  }
}
