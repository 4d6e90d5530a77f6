package io.snapline.spark.provider

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

import io.snapline.spark.protocol.TimeColumn

/** Reads the time of a state's row that decides when Spark removes it. Has rows of its own: what a scan or a get gave
  * to Spark stays as it is. One thread.
  */
private[provider] final class RowTimes(column: TimeColumn, family: StateFamily) {
  private val probe = if (column.inKey) family.emptyKey else family.emptyValue

  /** Whether a row's time may change. */
  val mayMove: Boolean = !column.inKey

  /** The time of a row as Spark has it. */
  def of(key: UnsafeRow, value: UnsafeRow): Long = read(if (column.inKey) key else value)

  /** The time of a row as it is stored; `value` is not asked for where the time is in the key. */
  def ofStored(key: Array[Byte], value: => Array[Byte]): Long = {
    if (column.inKey) family.pointAtKey(probe, key) else family.pointAtValue(probe, value)
    read(probe)
  }

  private def read(row: UnsafeRow): Long =
    if (row.isNullAt(column.ordinal)) RowTimes.Never
    else if (!column.inWindow) timeOr(row.getLong(column.ordinal))
    else {
      val window = row.getStruct(column.ordinal, 2)
      if (window.isNullAt(1)) RowTimes.Never else timeOr(window.getLong(1))
    }

  private def timeOr(time: Long): Long = if (column.none.contains(time)) RowTimes.Never else time
}

private[provider] object RowTimes {

  /** The time of a row that no watermark removes. */
  val Never: Long = Long.MaxValue
}
