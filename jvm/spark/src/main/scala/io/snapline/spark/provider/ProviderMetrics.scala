package io.snapline.spark.provider

import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider._
import org.apache.spark.sql.execution.streaming.state.snapline.LoadMetrics

import io.snapline.snapshot.store.StateStatistics
import io.snapline.state.BackendMetrics

/** Figures of a store as Spark shows them: the names are those of Spark's RocksDB provider where they mean the same, so
  * that dashboards stay.
  */
private[spark] object ProviderMetrics {
  private val tableHits =
    StateStoreCustomSumMetric("snaplineRowTableHits", "Snapline: gets answered by the row table")
  private val tableBytes = StateStoreCustomSizeMetric("snaplineRowTableBytes", "Snapline: memory of the row table")
  private val changelogBytes =
    StateStoreCustomSizeMetric("snaplineChangelogBytes", "Snapline: bytes of the changelog written")
  private val evictionRows =
    StateStoreCustomSumMetric(
      "snaplineEvictionRowsRead",
      "Snapline: rows read to find those that the watermark removes"
    )

  val lastSnapshot: StateStoreSnapshotLastUploadInstanceMetric = CUSTOM_INSTANCE_METRIC_SNAPSHOT_LAST_UPLOADED

  val custom: Seq[StateStoreCustomMetric] = ALL_CUSTOM_METRICS ++
    Seq(tableHits, tableBytes, changelogBytes, evictionRows)

  /** Counters are those of one version: what the backend counted since `before`.
    */
  def of(
      now: BackendMetrics,
      before: BackendMetrics,
      stats: StateStatistics,
      internalKeys: Long,
      families: (Int, Int),
      forcedSnapshot: Boolean,
      rowsReadForEviction: Long
  ): Map[StateStoreCustomMetric, Long] = {
    def ms(nanos: Long): Long = nanos / 1000000
    Map[StateStoreCustomMetric, Long](
      CUSTOM_METRIC_SST_FILE_SIZE -> now.storeBytes,
      CUSTOM_METRIC_GET_COUNT -> (now.gets - before.gets),
      CUSTOM_METRIC_PUT_COUNT -> (now.puts - before.puts),
      CUSTOM_METRIC_FLUSH_TIME -> ms(now.flushNanos),
      CUSTOM_METRIC_CHECKPOINT_TIME -> stats.snapshotMs,
      CUSTOM_METRIC_FILESYNC_TIME -> stats.snapshotMs,
      CUSTOM_METRIC_CHANGE_LOG_WRITER_COMMIT_TIME -> stats.changelogMs,
      CUSTOM_METRIC_BYTES_COPIED -> stats.snapshotBytes,
      CUSTOM_METRIC_FILES_COPIED -> stats.snapshotFiles.toLong,
      CUSTOM_METRIC_FILES_REUSED -> stats.reusedFiles.toLong,
      CUSTOM_METRIC_LOAD_TIME -> stats.loadMs,
      CUSTOM_METRIC_NUM_REPLAY_CHANGE_LOG_FILES -> stats.replayed.toLong,
      CUSTOM_METRIC_BLOCK_CACHE_MISS -> (now.blockCacheMisses - before.blockCacheMisses),
      CUSTOM_METRIC_BLOCK_CACHE_HITS -> (now.blockCacheHits - before.blockCacheHits),
      CUSTOM_METRIC_BYTES_READ -> (now.bytesRead - before.bytesRead),
      CUSTOM_METRIC_BYTES_WRITTEN -> (now.bytesWritten - before.bytesWritten),
      CUSTOM_METRIC_ITERATOR_BYTES_READ -> (now.iteratorBytesRead - before.iteratorBytesRead),
      CUSTOM_METRIC_STALL_TIME -> ms(now.stallNanos - before.stallNanos),
      CUSTOM_METRIC_COMPACT_READ_BYTES -> (now.compactionReadBytes - before.compactionReadBytes),
      CUSTOM_METRIC_COMPACT_WRITTEN_BYTES -> (now.compactionWrittenBytes - before.compactionWrittenBytes),
      CUSTOM_METRIC_FLUSH_WRITTEN_BYTES -> (now.flushWrittenBytes - before.flushWrittenBytes),
      CUSTOM_METRIC_PINNED_BLOCKS_MEM_USAGE -> now.pinnedBytes,
      CUSTOM_METRIC_NUM_INTERNAL_COL_FAMILIES_KEYS -> internalKeys,
      CUSTOM_METRIC_NUM_EXTERNAL_COL_FAMILIES -> families._1.toLong,
      CUSTOM_METRIC_NUM_INTERNAL_COL_FAMILIES -> families._2.toLong,
      tableHits -> (now.tableHits - before.tableHits),
      tableBytes -> now.tableBytes,
      changelogBytes -> stats.changelogBytes,
      evictionRows -> rowsReadForEviction
    ) ++ LoadMetrics.of(stats.loadedFromStorage, forcedSnapshot)
  }
}
