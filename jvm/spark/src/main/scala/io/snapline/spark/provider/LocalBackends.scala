package io.snapline.spark.provider

import java.io.File
import java.util.concurrent.atomic.AtomicInteger

import io.snapline.snapshot.store.BackendFactory
import io.snapline.state.heap.{HeapBackend, HeapStoreBuilder}
import io.snapline.state.{KeyedBackend, StoreBuilder}
import io.snapline.state.rocksdb.{RocksDbBackend, RocksDbSettings, RocksDbStoreBuilder}

/** Backends of one kind on the executor's disk. Any thread.
  *
  * @param named
  *   the kind, as in the handle's meta
  * @param folder
  *   for theirs; its owner deletes it
  */
private[spark] final class LocalBackends(named: => String, folder: => File, settings: ProviderSettings)
    extends BackendFactory {
  private val shared = SharedResources.get(settings)
  private val rocksDb = RocksDbSettings(settings.compression, settings.state.inlineThreshold)
  private val number = new AtomicInteger

  override def kind: String = named

  override def newFolder(): File = new File(folder, s"db-${number.incrementAndGet()}")

  override def open(folder: File, restored: Boolean): KeyedBackend =
    if (kind == HeapBackend.Kind) new HeapBackend(folder, restored, settings.backend.heap, shared.heap)
    else new RocksDbBackend(folder, restored, rocksDb, shared.native, shared.pages)

  def newBuilder(): StoreBuilder =
    if (kind == HeapBackend.Kind) new HeapStoreBuilder(newFolder(), settings.backend.heap)
    else new RocksDbStoreBuilder(newFolder(), rocksDb, shared.native)
}
