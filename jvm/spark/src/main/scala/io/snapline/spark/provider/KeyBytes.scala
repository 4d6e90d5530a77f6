package io.snapline.spark.provider

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** A growing buffer that rows are encoded into, used again for every row. One thread. */
private[provider] final class KeyBytes {
  var bytes = new Array[Byte](256)
  var length = 0

  def ensure(size: Int): Unit = if (bytes.length < size) bytes = new Array[Byte](Integer.highestOneBit(size) * 2)

  def set(prefix: Int, encoded: Array[Byte]): Unit = {
    length = prefix + encoded.length
    ensure(length)
    System.arraycopy(encoded, 0, bytes, prefix, encoded.length)
  }

  /** Spark's plain encoding: a version byte, 0, and the row's own bytes. */
  def setRow(prefix: Int, row: UnsafeRow): Unit = {
    val size = row.getSizeInBytes
    length = prefix + 1 + size
    ensure(length)
    bytes(prefix) = 0
    Platform.copyMemory(
      row.getBaseObject,
      row.getBaseOffset,
      bytes,
      Platform.BYTE_ARRAY_OFFSET + prefix + 1L,
      size.toLong
    )
  }

  def copy: Array[Byte] = java.util.Arrays.copyOf(bytes, length)
}
