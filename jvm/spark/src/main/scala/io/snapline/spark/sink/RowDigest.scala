package io.snapline.spark.sink

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow, XXH64}
import org.apache.spark.sql.types.StructType

/** A number that rows have in common only with the same rows, in whatever order they come. Used by one thread. */
private[sink] final class RowDigest(schema: StructType) {
  private lazy val projection = UnsafeProjection.create(schema)
  private var sum = 0L
  private var count = 0L

  def add(row: InternalRow): Unit = {
    val unsafe = row match {
      case it: UnsafeRow => it
      case other => projection(other)
    }
    sum += XXH64.hashUnsafeBytes(unsafe.getBaseObject, unsafe.getBaseOffset, unsafe.getSizeInBytes, RowDigest.Seed)
    count += 1
  }

  def value: Long = sum

  def rows: Long = count
}

private object RowDigest {
  // On disk, in markers: never another.
  val Seed = 42L
}
