package org.apache.spark.sql.execution.streaming.state
package snapline

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

import io.snapline.error.InvalidConfiguration

/** Calls that stores of this line's own providers do not know: those of Snapline do, and for the others there are
  * slower ones that come to the same, as far as there are.
  */
object StoreCalls {

  /** Null for a key that is not there. */
  def values(store: StateStore, keys: Array[UnsafeRow], family: String): Iterator[UnsafeRow] = store match {
    case own: StoreBase => own.multiGet(keys, family)
    case other => keys.iterator.map(other.get(_, family))
  }

  /** All entries, in order of their keys, as Spark's RocksDB stores have them anyway. */
  def inOrder(store: StateStore, family: String): StateStoreIterator[UnsafeRowPair] = store match {
    case own: StoreBase => own.rangeScan(None, None, family)
    case other => other.iterator(family)
  }

  /** Each value of each key's list, one after another. */
  def lists(store: StateStore, family: String): StateStoreIterator[UnsafeRowPair] = store match {
    case own: StoreBase => own.iteratorWithMultiValues(family)
    case other =>
      val keys = other.iterator(family)
      val pair = new UnsafeRowPair()
      val values = keys.flatMap { entry =>
        val key = entry.key.copy()
        other.valuesIterator(key, family).map(value => pair.withRows(key, value))
      }
      new StateStoreIterator(values, () => keys.close())
  }

  def families(store: StateStore): Set[String] = store match {
    case own: StoreBase => own.allColumnFamilyNames
    case other => throw refused(other)
  }

  /** A store without rows, whose commit makes the version after this one. */
  def empty(provider: StateStoreProvider, version: Long): StateStore = provider match {
    case own: ProviderBase => own.getStore(version, None, forceSnapshotOnCommit = false, loadEmpty = true)
    // Its only empty store is that before the first version.
    case other if version == 0 => other.getStore(0, None)
    case other => throw refused(other)
  }

  private def refused(of: AnyRef): InvalidConfiguration = new InvalidConfiguration(
    s"${of.getClass.getName} of Spark 4.1 lacks a call that savepoints need; Spark's own providers have it since 4.2.",
    "use Snapline's provider (snapline.configure sets it), or Spark 4.2 or later."
  )
}
