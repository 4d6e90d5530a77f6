package io.snapline.spark.operator.exchange

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.StructType

import io.snapline.spark.settings.ExchangeLimits

/** Bytes of rows as Spark holds them, which is about what Arrow takes for them. */
final class RowSize(what: String, schema: StructType) {
  private lazy val toRaw = UnsafeProjection.create(schema)

  /** Refuses a row that cannot travel, and names its largest column. */
  def of(row: InternalRow): Int = {
    val bytes = ofAny(row)
    if (bytes > ExchangeLimits.MostBytes)
      throw ExchangeLimits.tooLarge(s"$what, most of it in column ${widest(row)},", bytes.toLong)
    bytes
  }

  def ofAny(row: InternalRow): Int = row match {
    case raw: UnsafeRow => raw.getSizeInBytes
    case other => toRaw(other).getSizeInBytes
  }

  private def widest(row: InternalRow): String = {
    def alone(i: Int): Int = UnsafeProjection.create(StructType(schema.fields.slice(i, i + 1)))
      .apply(InternalRow(row.get(i, schema(i).dataType))).getSizeInBytes
    schema(schema.indices.maxBy(alone)).name
  }
}
