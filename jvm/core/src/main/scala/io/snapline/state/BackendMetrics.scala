package io.snapline.state

/** Counters since the backend was opened, and sizes now. Bytes and counts; nanoseconds where the name says so.
  *
  * @param tableBytes
  *   memory of the row table
  * @param nativeBytes
  *   memory of RocksDB for this store (memtables, pinned blocks, readers)
  */
final case class BackendMetrics(
    gets: Long = 0,
    tableHits: Long = 0,
    puts: Long = 0,
    tableBytes: Long = 0,
    nativeBytes: Long = 0,
    nativeReads: Long = 0,
    blockCacheHits: Long = 0,
    blockCacheMisses: Long = 0,
    pinnedBytes: Long = 0,
    storeBytes: Long = 0,
    bytesRead: Long = 0,
    bytesWritten: Long = 0,
    iteratorBytesRead: Long = 0,
    compactionReadBytes: Long = 0,
    compactionWrittenBytes: Long = 0,
    flushWrittenBytes: Long = 0,
    stallNanos: Long = 0,
    compactionNanos: Long = 0,
    drainNanos: Long = 0,
    flushNanos: Long = 0
)
