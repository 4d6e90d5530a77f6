package io.snapline.spark.provider

import org.slf4j.LoggerFactory

import io.snapline.snapshot.upload.SnapshotPool
import io.snapline.state.heap.HeapMemory
import io.snapline.state.rocksdb.RocksDbMemory
import io.snapline.state.rowtable.PageMemory

/** What all stores of a JVM share: memory and threads. Made by the first provider, never closed. */
final class SharedResources private (settings: ProviderSettings) {
  lazy val native = new RocksDbMemory(settings.nativeMemory)
  val pages = new PageMemory(settings.tableMemory)
  val heap = new HeapMemory(settings.backend.heapLimit)
  val snapshots = new SnapshotPool(settings.snapshotThreads)
}

object SharedResources {
  private val log = LoggerFactory.getLogger(classOf[SharedResources])
  private var made: SharedResources = _
  private var madeFor: (Long, Long, Long, Int) = _

  /** A later provider with other sizes gets what is there: the memory of a JVM is set once. */
  def get(settings: ProviderSettings): SharedResources = synchronized {
    val wanted =
      (settings.nativeMemory, settings.tableMemory, settings.backend.heapLimit, settings.snapshotThreads)
    if (made == null) {
      made = new SharedResources(settings)
      madeFor = wanted
    } else if (madeFor != wanted) {
      log.warn(
        s"(native memory, table memory, heap limit, snapshot threads) of this JVM were set to $madeFor by its first query; " +
          s"$wanted is used after a restart."
      )
    }
    made
  }
}
