package org.apache.spark.sql.execution.streaming.state
package snapline

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

import io.snapline.error.InvalidConfiguration

/** Calls that the stores of this line's own providers do not know: only Snapline's answer them. */
object StoreCalls {

  /** Null for a key that is not there. */
  def values(store: StateStore, keys: Array[UnsafeRow], family: String): Iterator[UnsafeRow] =
    own(store).multiGet(keys, family)

  /** All entries, in order of their keys. */
  def inOrder(store: StateStore, family: String): StateStoreIterator[UnsafeRowPair] =
    own(store).rangeScan(None, None, family)

  /** Each value of each key's list, one after another. */
  def lists(store: StateStore, family: String): StateStoreIterator[UnsafeRowPair] =
    own(store).iteratorWithMultiValues(family)

  def families(store: StateStore): Set[String] = own(store).allColumnFamilyNames

  /** A store without rows, whose commit makes the version after this one. */
  def empty(provider: StateStoreProvider, version: Long): StateStore = provider match {
    case own: ProviderBase => own.getStore(version, None, forceSnapshotOnCommit = false, loadEmpty = true)
    // Its only empty store is that before the first version.
    case other if version == 0 => other.getStore(0, None)
    case other => throw refused(other)
  }

  private def own(store: StateStore): StoreBase = store match {
    case own: StoreBase => own
    case other => throw refused(other)
  }

  private def refused(of: AnyRef): InvalidConfiguration = new InvalidConfiguration(
    s"${of.getClass.getName} of this Spark lacks a call that is needed here; Spark's own providers have it since 4.2.",
    "set spark.sql.streaming.stateStore.providerClass to Snapline's (snapline.configure does), or use Spark 4.2 or later."
  )
}
