package org.apache.spark.sql.execution.streaming.state
package snapline

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Calls of any provider's stores that not every line of Spark has in their interface. */
object StoreCalls {

  /** Null for a key that is not there. */
  def values(store: StateStore, keys: Array[UnsafeRow], family: String): Iterator[UnsafeRow] =
    store.multiGet(keys, family)

  /** All entries, in order of their keys. */
  def inOrder(store: StateStore, family: String): StateStoreIterator[UnsafeRowPair] =
    store.rangeScan(None, None, family)

  /** Each value of each key's list, one after another. */
  def lists(store: StateStore, family: String): StateStoreIterator[UnsafeRowPair] =
    store.iteratorWithMultiValues(family)

  def families(store: StateStore): Set[String] = store.allColumnFamilyNames

  /** A store without rows, whose commit makes the version after this one. */
  def empty(provider: StateStoreProvider, version: Long): StateStore =
    provider.getStore(version, None, forceSnapshotOnCommit = false, loadEmpty = true)
}
