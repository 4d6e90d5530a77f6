package io.snapline.spark.sink

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Copies of the rows of one partition, until they are more than fit. Used by one thread. */
private[sink] final class KeptRows(enabled: Boolean) {
  private var rows = new ArrayBuffer[InternalRow]
  private var bytes = 0L

  /** Whether all rows so far are here. */
  def isWhole: Boolean = rows != null

  def add(row: InternalRow): Unit = if (rows != null) {
    bytes += KeptRows.size(row)
    if (!enabled || bytes > KeptRows.MostBytes) rows = null else rows += row.copy()
  }

  def foreach(each: InternalRow => Unit): Unit = rows.foreach(each)
}

private object KeptRows {
  val MostBytes: Long = 8L << 20
  private val BytesOfOthers = 256

  def size(row: InternalRow): Int = row match {
    case unsafe: UnsafeRow => unsafe.getSizeInBytes
    case _ => BytesOfOthers
  }
}
