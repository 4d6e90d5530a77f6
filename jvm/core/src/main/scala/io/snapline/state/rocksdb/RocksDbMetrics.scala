package io.snapline.state.rocksdb

import org.rocksdb.TickerType

import io.snapline.state.BackendMetrics

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
