package io.snapline.spark.operator.state

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.streaming.state.StateStore
import org.apache.spark.sql.types._

/** Keys that begin with a time and keep its order over the whole partition: (time, key). */
final class TimeOrderedRows(key: StructType, timeName: String, keyName: String) {
  private val schema = TimeOrderedRows.schema(key, timeName, keyName)
  // Most tasks have neither timers nor expiries; each of these would be generated for every one.
  private lazy val projection = UnsafeProjection.create(schema)
  private val row = new GenericInternalRow(2)

  lazy val empty: UnsafeRow = UnsafeProjection.create(Array[DataType](NullType)).apply(InternalRow(null)).copy()

  /** Good until the next call. */
  def key(time: Long, of: InternalRow): UnsafeRow = {
    row.update(0, time)
    row.update(1, of)
    projection(row)
  }

  /** The earliest entries up to and with `time`, in order of time, until there are so many or their keys have so many
    * bytes.
    */
  def until(store: StateStore, family: String, time: Long, limit: Int, most: Long): Array[(Long, UnsafeRow)] = {
    // No end is given: it would need a projection in every task, and the first entry that is later ends the scan as
    // well.
    val entries = store.rangeScan(None, None, family)
    try {
      val found = ArrayBuffer.empty[(Long, UnsafeRow)]
      var through = true
      var bytes = 0L
      while (through && found.size < limit && bytes < most && entries.hasNext) {
        val entry = entries.next().key
        through = entry.getLong(0) <= time
        if (through) {
          val of = entry.getStruct(1, key.length).copy()
          bytes += of.getSizeInBytes
          found += entry.getLong(0) -> of
        }
      }
      found.toArray
    } finally entries.close()
  }
}

object TimeOrderedRows {
  def schema(key: StructType, timeName: String, keyName: String): StructType =
    new StructType().add(timeName, LongType, nullable = false).add(keyName, key)
}
