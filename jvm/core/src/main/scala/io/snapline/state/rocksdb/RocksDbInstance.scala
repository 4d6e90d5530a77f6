package io.snapline.state.rocksdb

import java.io.File
import java.util.{ArrayList => JArrayList}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.rocksdb._

import io.snapline.error.StorageFailure

/** An open RocksDB and every native object that belongs to it. Owned by one backend, which closes it; objects are closed in the
  * reverse order of their making, iterators first.
  *
  * @param folder
  *   the database's files; deleted by the owner
  */
final class RocksDbInstance(val folder: File, settings: RocksDbSettings, memory: RocksDbMemory) extends AutoCloseable {
  private val owned = mutable.ArrayBuffer.empty[AutoCloseable]
  private def own[A <: AutoCloseable](native: A): A = { owned += native; native }

  val statistics: Statistics = own(new Statistics)
  statistics.setStatsLevel(StatsLevel.EXCEPT_DETAILED_TIMERS)
  private val filter = own(new BloomFilter(10))
  private val append = own(new StringAppendOperator(""))
  private val universal = own(new CompactionOptionsUniversal)
  universal.setSizeRatio(10).setMinMergeWidth(4).setMaxSizeAmplificationPercent(150)
  private val familyOptions = own(new ColumnFamilyOptions)
  familyOptions
    .setTableFormatConfig(
      new BlockBasedTableConfig()
        .setBlockCache(memory.cache)
        .setFilterPolicy(filter)
        .setBlockSize(8 << 10)
        .setCacheIndexAndFilterBlocks(true)
        .setCacheIndexAndFilterBlocksWithHighPriority(true)
        .setPinL0FilterAndIndexBlocksInCache(true)
        .setFormatVersion(5)
    )
    .setMergeOperator(append)
    .setCompressionType(settings.compressionType)
    .setCompactionStyle(CompactionStyle.UNIVERSAL)
    .setCompactionOptionsUniversal(universal)
    .setLevel0FileNumCompactionTrigger(6)
    .setWriteBufferSize(32L << 20)
    // A memtable takes this much at once, and most stores are small.
    .setArenaBlockSize(128L << 10)
    .setMemtablePrefixBloomSizeRatio(0.05)
    .setMemtableWholeKeyFiltering(true)

  private val databaseOptions = own(new DBOptions)
  databaseOptions
    .setCreateIfMissing(true)
    .setCreateMissingColumnFamilies(true)
    .setAtomicFlush(true)
    .setWriteBufferManager(memory.writeBuffers)
    .setStatistics(statistics)
    .setMaxBackgroundJobs(2)
    .setInfoLogLevel(InfoLogLevel.WARN_LEVEL)
    .setKeepLogFileNum(1)
    .setStatsDumpPeriodSec(0)
    .setStatsPersistPeriodSec(0)

  /** Without a log: what is lost with the process is in the changelog. */
  private val writes = own(new WriteOptions)
  writes.setDisableWAL(true)
  val reads: ReadOptions = own(new ReadOptions)
  private val flush = own(new FlushOptions)
  flush.setWaitForFlush(true)

  private val handles = mutable.LinkedHashMap.empty[String, ColumnFamilyHandle]
  val db: RocksDB =
    try open()
    catch {
      case e: RocksDBException =>
        closeOwned()
        throw new StorageFailure(
          s"RocksDB cannot open $folder: ${e.getMessage}.",
          "see to space and permissions of the executor's local disk (spark.local.dir).",
          e
        )
    }

  private def open(): RocksDB = {
    val existing =
      if (new File(folder, "CURRENT").exists()) {
        val options = new Options()
        try RocksDB.listColumnFamilies(options, folder.getPath).asScala.toSeq
        finally options.close()
      } else Seq(RocksDB.DEFAULT_COLUMN_FAMILY)
    val descriptors = existing.map(new ColumnFamilyDescriptor(_, familyOptions))
    val opened = new JArrayList[ColumnFamilyHandle]()
    val database = RocksDB.open(databaseOptions, folder.getPath, descriptors.asJava, opened)
    existing.zip(opened.asScala).foreach { case (name, handle) => handles(new String(name, "UTF-8")) = handle }
    database
  }

  def families: Seq[String] = synchronized(handles.keys.toSeq)

  def family(name: String): ColumnFamilyHandle = synchronized {
    handles.getOrElseUpdate(
      name,
      db.createColumnFamily(new ColumnFamilyDescriptor(name.getBytes("UTF-8"), familyOptions))
    )
  }

  def dropFamily(name: String): Unit = synchronized {
    handles.remove(name).foreach { handle =>
      db.dropColumnFamily(handle)
      handle.close()
    }
  }

  def write(serialized: Array[Byte]): Unit = {
    val batch = new WriteBatch(serialized)
    try db.write(writes, batch)
    finally batch.close()
  }

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
    closeOwned()
  }

  private def closeOwned(): Unit = owned.reverseIterator.foreach(_.close())
}
