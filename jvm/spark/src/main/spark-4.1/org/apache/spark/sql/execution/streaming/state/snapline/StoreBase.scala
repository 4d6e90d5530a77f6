package org.apache.spark.sql.execution.streaming.state
package snapline

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The interface of a store with all calls that any line of Spark has. No operator of this line makes those that stand
  * here; Snapline's own do.
  */
trait StoreBase extends StateStore {
  def multiGet(keys: Array[UnsafeRow], family: String): Iterator[UnsafeRow]

  def keyExists(key: UnsafeRow, family: String): Boolean

  def prefixScanWithMultiValues(prefix: UnsafeRow, family: String): StateStoreIterator[UnsafeRowPair]

  def rangeScan(
      start: Option[UnsafeRow],
      end: Option[UnsafeRow],
      family: String
  ): StateStoreIterator[UnsafeRowPair]

  def rangeScanWithMultiValues(
      start: Option[UnsafeRow],
      end: Option[UnsafeRow],
      family: String
  ): StateStoreIterator[UnsafeRowPair]

  def iteratorWithMultiValues(family: String): StateStoreIterator[UnsafeRowPair]

  def allColumnFamilyNames: Set[String]

  def deleteRange(begin: UnsafeRow, end: UnsafeRow, family: String): Unit
}
