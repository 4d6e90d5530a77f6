package io.snapline.spark.savepoint

import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.types.StructType

/** Computes what Spark's shuffle computes: the partition of a key, or with the maximum parallelism its key group. One thread. */
private[savepoint] final class KeyPartition(key: StructType, placement: Placement, parallelism: Int) {
  private val projection = placement match {
    case Placement.Hashed(paths) =>
      val columns = paths.map(Placement.column(key, _))
      Some(UnsafeProjection.create(Seq(HashPartitioning(columns, parallelism).partitionIdExpression)))
    case _ => None
  }

  /** None: the key does not say. */
  def of(row: UnsafeRow): Option[Int] = projection.map(_(row).getInt(0))
}
