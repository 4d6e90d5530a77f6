package io.snapline.state.rocksdb

import org.rocksdb.{Cache, LRUCache, RocksDB, WriteBufferManager}

/** Native memory that all stores of a JVM share: one block cache, with the memtables charged to it. Lives as long as
  * the JVM.
  *
  * @param limit
  *   bytes of blocks, indexes, filters and memtables together; memtables take at most half
  */
final class RocksDbMemory(val limit: Long) {
  RocksDB.loadLibrary()
  val cache: Cache = new LRUCache(limit, -1, false, 0.2)
  val writeBuffers: WriteBufferManager = new WriteBufferManager(limit / 2, cache, false)
}
