package io.snapline.state.rocksdb

import scala.collection.mutable

import org.rocksdb._

/** How RocksDB is set for every store: the native objects that say it. Owned by whoever made them, and closed after
  * what was opened with them, in the reverse order of their making.
  */
private[rocksdb] final class RocksDbOptions(settings: RocksDbSettings, memory: RocksDbMemory) extends AutoCloseable {
  private val owned = mutable.ArrayBuffer.empty[AutoCloseable]

  /** Closed with the others. */
  def own[A <: AutoCloseable](native: A): A = { owned += native; native }

  val statistics: Statistics = own(new Statistics)
  statistics.setStatsLevel(StatsLevel.EXCEPT_DETAILED_TIMERS)
  private val filter = own(new BloomFilter(10))
  private val append = own(new StringAppendOperator(""))
  private val universal = own(new CompactionOptionsUniversal)
  universal.setSizeRatio(10).setMinMergeWidth(4).setMaxSizeAmplificationPercent(150)

  val family: ColumnFamilyOptions = own(new ColumnFamilyOptions)
  family
    .setTableFormatConfig(
      new BlockBasedTableConfig()
        .setBlockCache(memory.cache)
        .setFilterPolicy(filter)
        .setBlockSize(8 << 10)
        .setCacheIndexAndFilterBlocks(true)
        .setCacheIndexAndFilterBlocksWithHighPriority(true)
        .setPinL0FilterAndIndexBlocksInCache(true)
        // A table file may hold all keys of a family. As one block, its filter is megabytes, which no shard of the
        // cache
        // keeps, so that each look would read all of it again.
        .setIndexType(IndexType.kTwoLevelIndexSearch)
        .setPartitionFilters(true)
        .setMetadataBlockSize(8 << 10)
        .setPinTopLevelIndexAndFilter(true)
        .setFormatVersion(5)
    )
    .setMergeOperator(append)
    .setCompressionType(settings.compressionType)
    .setCompactionStyle(CompactionStyle.UNIVERSAL)
    .setCompactionOptionsUniversal(universal)
    .setLevel0FileNumCompactionTrigger(RocksDbOptions.ManyRuns)
    .setWriteBufferSize(32L << 20)
    // A memtable takes this much at once, and most stores are small.
    .setArenaBlockSize(128L << 10)
    // So does its filter, whole and at once: 160 KiB. It is right for some 130,000 keys, and better than none for more.
    .setMemtablePrefixBloomSizeRatio(0.005)
    .setMemtableWholeKeyFiltering(true)

  val database: DBOptions = own(new DBOptions)
  database
    .setCreateIfMissing(true)
    .setCreateMissingColumnFamilies(true)
    .setAtomicFlush(true)
    .setWriteBufferManager(memory.writeBuffers)
    .setStatistics(statistics)
    .setMaxBackgroundJobs(2)
    .setInfoLogLevel(InfoLogLevel.WARN_LEVEL)
    .setKeepLogFileNum(1)
    // Every snapshot carries the manifest along, to which RocksDB appends for as long as it is open.
    .setMaxManifestFileSize(RocksDbOptions.LongestManifest)
    // The end of an iterator leaves obsolete files to a thread of RocksDB, which wakes a checkpoint that waits for
    // them.
    // Else nothing wakes it in RocksDB 9.8, and it waits for ever (facebook/rocksdb#14069).
    .setAvoidUnnecessaryBlockingIO(true)
    .setStatsDumpPeriodSec(0)
    .setStatsPersistPeriodSec(0)

  override def close(): Unit = owned.reverseIterator.foreach(_.close())
}

private[rocksdb] object RocksDbOptions {

  /** So many sorted runs of a family are merged in the background. Where keys are only added, a merge rewrites all rows
    * and removes none.
    */
  val ManyRuns = 12

  /** Likewise, where its table files have more than `EntriesPerKey` entries for a key: older rows, and marks of removed
    * ones.
    */
  val FewRuns = 6
  val EntriesPerKey = 1.25

  /** A manifest that is longer, in bytes, is written anew with the next change of files: 200 bytes or so for each table
    * file.
    */
  val LongestManifest: Long = 32L << 10
}

/** @param compression
  *   compression of table files: `lz4`, `zstd` or `none`
  * @param inlineThreshold
  *   table files of at most so many bytes are written again with each snapshot. Before a snapshot, a family's files of
  *   that size are merged into one
  */
final case class RocksDbSettings(compression: String = "lz4", inlineThreshold: Int = 0) {
  private[rocksdb] def compressionType: CompressionType = compression match {
    case "none" => CompressionType.NO_COMPRESSION
    case "zstd" => CompressionType.ZSTD_COMPRESSION
    case _ => CompressionType.LZ4_COMPRESSION
  }
}

/** Native memory that all stores of a JVM share: one block cache, with the memtables charged to it. Lives as long as
  * the JVM.
  *
  * @param limit
  *   bytes of blocks, indexes, filters and memtables together; memtables take at most half
  */
final class RocksDbMemory(val limit: Long) {
  RocksDB.loadLibrary()
  val cache: Cache = new LRUCache(limit, RocksDbMemory.shardBits(limit), false, 0.2)
  val writeBuffers: WriteBufferManager = new WriteBufferManager(limit / 2, cache, false)
}

private[rocksdb] object RocksDbMemory {

  /** A shard of the cache keeps no block that is larger than itself, and filters of older table files are one block
    * each: a million keys take 1.25 MB.
    */
  private val ShardSize = 16L << 20

  private val MostShardBits = 6

  def shardBits(limit: Long): Int =
    math.min(MostShardBits, 63 - java.lang.Long.numberOfLeadingZeros(math.max(1, limit / ShardSize)))
}
