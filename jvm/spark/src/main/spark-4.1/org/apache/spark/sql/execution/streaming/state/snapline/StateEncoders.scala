package org.apache.spark.sql.execution.streaming.state
package snapline

import scala.annotation.unused

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.Platform

/** Spark's encoders of keys and values, as far as lines of Spark differ in them. */
object StateEncoders {

  def values(data: RocksDBDataEncoder, schema: StructType, multi: Boolean): RocksDBValueStateEncoder =
    if (multi) new ListEncoder(data, schema) else RocksDBStateEncoder.getValueEncoder(data, schema, multi)

  def supportRanges(keys: RocksDBKeyStateEncoder): Boolean = keys.isInstanceOf[RangeKeyScanStateEncoder]

  def supportDeletedRanges(keys: RocksDBKeyStateEncoder): Boolean = supportRanges(keys)

  /** No key of this line does. */
  def endInTime(@unused spec: KeyStateEncoderSpec): Boolean = false
}

/** Values of a list follow each other without a byte between, as on every line: this one's encoder wants one. */
private final class ListEncoder(data: RocksDBDataEncoder, schema: StructType)
    extends MultiValuedStateEncoder(data, schema) {
  override def decodeValues(bytes: Array[Byte]): Iterator[UnsafeRow] =
    if (bytes == null) Iterator.empty
    else new Iterator[UnsafeRow] {
      private var at = 0

      override def hasNext: Boolean = at < bytes.length

      override def next(): UnsafeRow = {
        val begin = at + Integer.BYTES
        at = begin + Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET + at.toLong)
        data.decodeValue(java.util.Arrays.copyOfRange(bytes, begin, at))
      }
    }
}
