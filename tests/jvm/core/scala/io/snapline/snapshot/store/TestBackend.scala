package io.snapline.snapshot.store

import java.io.File

import io.snapline.state.heap.{HeapBackend, HeapMemory, HeapSettings}
import io.snapline.state.KeyedBackend
import io.snapline.state.rocksdb.{RocksDbBackend, RocksDbMemory, RocksDbSettings}
import io.snapline.state.rowtable.PageMemory

/** The backends every promise is kept on.
  *
  * @param shares
  *   whether a snapshot names table files of the one before
  */
sealed abstract class TestBackend(val kind: String, val shares: Boolean) {
  def open(folder: File, restored: Boolean, pages: PageMemory, heap: HeapMemory, inlineThreshold: Int): KeyedBackend
}

object TestBackend {
  val memory = new RocksDbMemory(32L << 20)

  case object RocksDb extends TestBackend(RocksDbBackend.Kind, shares = true) {
    override def open(folder: File, restored: Boolean, pages: PageMemory, heap: HeapMemory, inlineThreshold: Int) =
      new RocksDbBackend(folder, restored, RocksDbSettings(inlineThreshold = inlineThreshold), memory, pages)
  }

  /** Small states and large changes make chains of files too. */
  case object HashMap extends TestBackend(HeapBackend.Kind, shares = true) {
    private val settings = HeapSettings(imageAfter = 3, smallImage = 0)
    override def open(folder: File, restored: Boolean, pages: PageMemory, heap: HeapMemory, inlineThreshold: Int) =
      new HeapBackend(folder, restored, settings, heap)
  }

  case object NestedHashMap extends TestBackend(HeapBackend.Kind, shares = false) {
    private val settings = HeapSettings(asyncSnapshots = false, compress = false)
    override def open(folder: File, restored: Boolean, pages: PageMemory, heap: HeapMemory, inlineThreshold: Int) =
      new HeapBackend(folder, restored, settings, heap)
  }
}
