package io.snapline.state.rocksdb

import java.io.File
import java.lang.management.ManagementFactory
import java.util.{ArrayList => JArrayList, Collections, List => JList}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.sun.management.UnixOperatingSystemMXBean
import org.rocksdb._

import io.snapline.error.StorageFailure
import io.snapline.state.BackendMetrics

/** An open RocksDB and every native object that belongs to it. Owned by one backend, which closes it; objects are
  * closed in the reverse order of their making, iterators first.
  *
  * @param folder
  *   the database's files; deleted by the owner
  */
final class RocksDbInstance(val folder: File, settings: RocksDbSettings, memory: RocksDbMemory) extends AutoCloseable {
  private val options = new RocksDbOptions(settings, memory)
  val statistics: Statistics = options.statistics

  /** Without a log: what is lost with the process is in the changelog. */
  private val writes = options.own(new WriteOptions)
  writes.setDisableWAL(true)
  private val reads = options.own(new ReadOptions)
  private val nothing = new Array[Byte](0)
  private val flush = options.own(new FlushOptions)
  flush.setWaitForFlush(true)

  private val handles = mutable.LinkedHashMap.empty[String, ColumnFamilyHandle]
  val db: RocksDB =
    try open()
    catch {
      case e: RocksDBException =>
        options.close()
        throw RocksDbFailure(
          s"RocksDB cannot open $folder: ${e.getMessage}.",
          "see to space and permissions of the executor's local disk (spark.local.dir).",
          e
        )
    }

  private def open(): RocksDB = {
    val existing =
      if (new File(folder, "CURRENT").exists()) {
        val plain = new Options()
        try RocksDB.listColumnFamilies(plain, folder.getPath).asScala.toSeq
        finally plain.close()
      } else Seq(RocksDB.DEFAULT_COLUMN_FAMILY)
    val descriptors = existing.map(new ColumnFamilyDescriptor(_, options.family))
    val opened = new JArrayList[ColumnFamilyHandle]()
    val database = RocksDB.open(options.database, folder.getPath, descriptors.asJava, opened)
    existing.zip(opened.asScala).foreach { case (name, handle) => handles(new String(name, "UTF-8")) = handle }
    database
  }

  def families: Seq[String] = synchronized(handles.keys.toSeq)

  def family(name: String): ColumnFamilyHandle = synchronized {
    handles.getOrElseUpdate(
      name,
      db.createColumnFamily(new ColumnFamilyDescriptor(name.getBytes("UTF-8"), options.family))
    )
  }

  def dropFamily(name: String): Unit = synchronized {
    handles.remove(name).foreach { handle =>
      db.dropColumnFamily(handle)
      handle.close()
      mergedEarly -= name
    }
  }

  /** Whether a read has failed. */
  @volatile var hasFailed = false

  /** A read's error, after which the state is to be loaded anew. */
  def failed(read: RocksDBException): StorageFailure = {
    hasFailed = true
    RocksDbFailure.ofRead(read)
  }

  /** The value of a key, or null. */
  def get(family: ColumnFamilyHandle, key: Array[Byte], offset: Int, length: Int): Array[Byte] =
    try db.get(family, reads, key, offset, length)
    catch { case e: RocksDBException => throw failed(e) }

  /** Whether the key is there; its value is not copied. */
  def contains(family: ColumnFamilyHandle, key: Array[Byte], offset: Int, length: Int): Boolean =
    try db.get(family, reads, key, offset, length, nothing, 0, 0) != RocksDB.NOT_FOUND
    catch { case e: RocksDBException => throw failed(e) }

  /** The values of keys in their order, null where there is none. */
  def multiGet(family: ColumnFamilyHandle, keys: JList[Array[Byte]]): JList[Array[Byte]] =
    try {
      val values = db.multiGetAsList(reads, Collections.nCopies(keys.size, family), keys)
      // RocksDB has no error for one of several keys: null stands for a key that it could not read, too.
      var i = 0
      while (i < values.size) {
        if (values.get(i) == null) {
          val key = keys.get(i)
          values.set(i, get(family, key, 0, key.length))
        }
        i += 1
      }
      values
    } catch { case e: RocksDBException => throw failed(e) }

  def write(serialized: Array[Byte]): Unit = {
    val batch = new WriteBatch(serialized)
    try db.write(writes, batch)
    finally batch.close()
  }

  /** Takes table files over, as the newest of a family. */
  def ingest(name: String, files: Seq[File]): Unit = {
    val ingestion = new IngestExternalFileOptions()
    try {
      ingestion.setMoveFiles(true).setSnapshotConsistency(false)
      db.ingestExternalFile(family(name), files.map(_.getPath).asJava, ingestion)
    } finally ingestion.close()
  }

  /** Merges all that a family has. */
  def compact(name: String): Unit = db.compactRange(family(name))

  /** By family. */
  def tableFiles: Map[String, Seq[LiveFileMetaData]] =
    db.getLiveFilesMetaData.asScala.toSeq.groupBy(file => new String(file.columnFamilyName, "UTF-8"))

  /** Merges the table files of each family that has several, if all are at most so long. */
  def compactShort(all: Map[String, Seq[LiveFileMetaData]], bytes: Int): Unit =
    for ((name, files) <- all if files.sizeIs > 1 && files.forall(_.size <= bytes)) compact(name)

  /** Lets a family have more sorted runs while merging them would remove next to nothing.
    *
    * @param keys
    *   how many a family has, by its name
    */
  def limitRuns(all: Map[String, Seq[LiveFileMetaData]], keys: Map[String, Long]): Unit =
    for ((name, files) <- all; count <- keys.get(name)) {
      val pays = files.map(_.numEntries).sum > count * RocksDbOptions.EntriesPerKey
      if (pays != mergedEarly(name)) {
        val runs = if (pays) RocksDbOptions.FewRuns else RocksDbOptions.ManyRuns
        db.setOptions(family(name), MutableColumnFamilyOptions.builder.setLevel0FileNumCompactionTrigger(runs).build())
        mergedEarly = if (pays) mergedEarly + name else mergedEarly - name
      }
    }

  /** Families that may have few runs. Guarded by the queue, as snapshots are. */
  private var mergedEarly = Set.empty[String]

  def flushAll(): Unit = db.flush(flush, synchronized(new JArrayList(handles.values.asJavaCollection)))

  def hardLink(target: File): Unit = {
    val checkpoint = Checkpoint.create(db)
    try checkpoint.createCheckpoint(target.getPath)
    finally checkpoint.close()
  }

  def property(name: String): Long = synchronized(handles.values.map(db.getLongProperty(_, name)).sum)

  override def close(): Unit = {
    db.cancelAllBackgroundWork(true)
    handles.values.foreach(_.close())
    db.close()
    options.close()
  }
}

private[rocksdb] object RocksDbMetrics {

  /** RocksDB's own counters, under one roof with ours. */
  def fill(own: BackendMetrics, instance: RocksDbInstance): BackendMetrics = {
    val counters = instance.statistics
    own.copy(
      nativeBytes = instance.property("rocksdb.cur-size-all-mem-tables") +
        instance.property("rocksdb.estimate-table-readers-mem"),
      nativeReads = counters.getTickerCount(TickerType.NUMBER_KEYS_READ),
      blockCacheHits = counters.getTickerCount(TickerType.BLOCK_CACHE_HIT),
      blockCacheMisses = counters.getTickerCount(TickerType.BLOCK_CACHE_MISS),
      pinnedBytes = instance.property("rocksdb.block-cache-pinned-usage"),
      storeBytes = instance.property("rocksdb.live-sst-files-size"),
      bytesRead = counters.getTickerCount(TickerType.BYTES_READ),
      bytesWritten = counters.getTickerCount(TickerType.BYTES_WRITTEN),
      iteratorBytesRead = counters.getTickerCount(TickerType.ITER_BYTES_READ),
      compactionReadBytes = counters.getTickerCount(TickerType.COMPACT_READ_BYTES),
      compactionWrittenBytes = counters.getTickerCount(TickerType.COMPACT_WRITE_BYTES),
      flushWrittenBytes = counters.getTickerCount(TickerType.FLUSH_WRITE_BYTES),
      stallNanos = counters.getTickerCount(TickerType.STALL_MICROS) * 1000
    )
  }
}

/** The advice for an error of RocksDB: where file handles run out, more space does not help. */
private[rocksdb] object RocksDbFailure {
  def apply(found: String, action: String, cause: Throwable): StorageFailure =
    new StorageFailure(found, if (tooManyFiles(cause)) moreFiles else action, cause)

  def ofRead(cause: Throwable): StorageFailure = apply(
    s"RocksDB could not read its local files: ${cause.getMessage}.",
    "see to the executor's local disk (spark.local.dir); the task is retried from the last version in storage.",
    cause
  )

  private def tooManyFiles(cause: Throwable): Boolean =
    Option(cause.getMessage).exists(_.contains("Too many open files"))

  private def moreFiles: String = {
    val open = ManagementFactory.getOperatingSystemMXBean match {
      case unix: UnixOperatingSystemMXBean =>
        s"it has ${unix.getOpenFileDescriptorCount} open and may have ${unix.getMaxFileDescriptorCount}"
      case _ => "it may have no more"
    }
    s"raise the limit of open files of this executor (ulimit -Hn), or spread its stores over more executors: $open."
  }
}
