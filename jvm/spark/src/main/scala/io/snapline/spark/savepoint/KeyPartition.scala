package io.snapline.spark.savepoint

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.StructType

/** Computes what Spark's shuffle computes: the partition of a key, or with the maximum parallelism its key group. One
  * thread.
  */
private[savepoint] final class KeyPartition(key: StructType, placement: Placement, parallelism: Int) {
  private val hash = KeyHash.of(key, placement)

  /** None: the key does not say. */
  def of(row: UnsafeRow): Option[Int] = hash.map(of => Math.floorMod(of(row), parallelism))
}
