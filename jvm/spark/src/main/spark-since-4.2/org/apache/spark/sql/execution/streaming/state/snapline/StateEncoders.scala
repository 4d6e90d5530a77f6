package org.apache.spark.sql.execution.streaming.state
package snapline

import org.apache.spark.sql.types.StructType

/** Spark's encoders of keys and values, as far as lines of Spark differ in them. */
object StateEncoders {

  /** Values of a list follow each other without a byte between, on every line. */
  private[snapline] val NoDelimiter = 0

  def values(data: RocksDBDataEncoder, schema: StructType, multi: Boolean): RocksDBValueStateEncoder =
    RocksDBStateEncoder.getValueEncoder(data, schema, multi, NoDelimiter)

  def supportRanges(keys: RocksDBKeyStateEncoder): Boolean = keys.supportsRangeScan

  def supportDeletedRanges(keys: RocksDBKeyStateEncoder): Boolean = keys.supportsDeleteRange

  /** The last column is a time, which the encoder writes behind the rest: 8 bytes. */
  def endInTime(spec: KeyStateEncoderSpec): Boolean = spec.isInstanceOf[TimestampAsPostfixKeyStateEncoderSpec]
}
