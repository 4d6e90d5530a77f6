package io.snapline.state.rocksdb

import java.io.File

import scala.collection.mutable

import org.rocksdb.{EnvOptions, Options, RocksDBException, SstFileWriter}

import io.snapline.error.StorageFailure
import io.snapline.state._

/** Writes table files in the order of their keys, and makes a database of them at the end: rows pass no memtable.
  *
  * @param folder
  *   a new one, for the table files and the database
  */
final class RocksDbStoreBuilder(folder: File, settings: RocksDbSettings, memory: RocksDbMemory) extends StoreBuilder {
  import RocksDbStoreBuilder._

  override def kind: String = RocksDbBackend.Kind

  folder.mkdirs()
  private val options = new RocksDbOptions(settings, memory)
  private val environment = options.own(new EnvOptions)
  private val writing = options.own(new Options(options.database, options.family))

  /** By family, its runs, each of files whose keys ascend. */
  private val runs = mutable.LinkedHashMap.empty[String, Vector[Vector[File]]]
  private var family: String = _
  private var run = Vector.empty[File]
  private var writer: SstFileWriter = _
  private var written = 0L
  private var number = 0

  override def begin(descriptor: FamilyDescriptor): Unit = {
    endRun()
    family = descriptor.name
    if (!runs.contains(family)) runs(family) = Vector.empty
  }

  override def put(key: Array[Byte], value: Array[Byte]): Unit = {
    if (written > FileBytes) endFile()
    if (writer == null) beginFile()
    try writer.put(key, value)
    catch { case e: RocksDBException => throw failed(e) }
    written += key.length + value.length
  }

  private def beginFile(): Unit = {
    number += 1
    val file = new File(folder, s"$number.run")
    writer = new SstFileWriter(environment, writing)
    try writer.open(file.getPath)
    catch { case e: RocksDBException => throw failed(e) }
    run :+= file
  }

  private def endFile(): Unit = if (writer != null) {
    try writer.finish()
    catch { case e: RocksDBException => throw failed(e) }
    closeWriter()
  }

  private def closeWriter(): Unit = if (writer != null) {
    writer.close()
    writer = null
    written = 0
  }

  private def endRun(): Unit = {
    endFile()
    if (run.nonEmpty) runs(family) :+= run
    run = Vector.empty
  }

  override def finish(): LocalSnapshot = {
    endRun()
    val database = new File(folder, "db")
    val target = new File(folder, "snapshot")
    val instance = new RocksDbInstance(database, settings, memory)
    try {
      runs.foreach { case (name, all) =>
        instance.family(name)
        all.foreach(instance.ingest(name, _))
        // The task that opens it would have to compact first, and could not write before.
        if (all.size >= RocksDbOptions.ManyRuns) instance.compact(name)
      }
      instance.hardLink(target)
    } catch { case e: RocksDBException => throw failed(e) }
    finally instance.close()
    LocalFolder.delete(database)
    RocksDbPendingSnapshot.read(target)
  }

  private def failed(e: RocksDBException): StorageFailure = RocksDbFailure(
    s"RocksDB could not write $folder: ${e.getMessage}.",
    "free space on the executor's local disk (spark.local.dir).",
    e
  )

  override def close(): Unit = {
    closeWriter()
    options.close()
    LocalFolder.delete(folder)
  }
}

private object RocksDbStoreBuilder {

  /** Keys and values in one table file. */
  private val FileBytes = 128L << 20
}
