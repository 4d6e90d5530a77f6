package io.snapline.spark.operator

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.StateStore
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.ColumnarBatch

/** The timers of a partition: one family for each kind of time, ordered by time. */
final class Timers(keySchema: StructType, store: StateStore, counts: ChangeCounts) {
  private val rows = new TimeOrderedRows(keySchema, Timers.Time, Timers.Key)

  /** Applies registrations and deletions, in the order they were made. */
  def change(batch: ColumnarBatch, keys: EpochKeys): Unit = {
    val changes = batch.numRows()
    var i = 0
    while (i < changes) {
      val change = batch.getRow(i)
      val row = rows.key(change.getLong(1), keys(change.getInt(0)))
      val family = Timers.family(change.getByte(2))
      if (change.getByte(3) == Timers.Register) {
        store.put(row, rows.empty, family)
        counts.timersRegistered += 1
      } else {
        store.remove(row, family)
        counts.timersDeleted += 1
      }
      i += 1
    }
  }

  /** Takes the earliest due timers out of the store, `limit` at most. */
  def take(domain: Byte, due: Long, limit: Int): Timers.Round = {
    val family = Timers.family(domain)
    // Without a watermark there is nothing to look for.
    val found = if (due == Long.MinValue) Timers.NoTimers else rows.until(store, family, due, limit + 1)
    val fired = found.take(limit)
    fired.foreach { case (time, key) => store.remove(rows.key(time, key), family) }
    counts.timersFired += fired.length
    // Up to here no timer of the store is left behind, so a new one may be fired without asking the store.
    val through =
      if (found.length > limit) math.min(fired.last._1, found.last._1 - 1)
      else if (fired.isEmpty) due
      else fired.last._1
    Timers.Round(domain, fired, through)
  }

  /** The time of the earliest timer, if there is one. */
  def earliest(domain: Byte): Option[Long] =
    rows.until(store, Timers.family(domain), Long.MaxValue, 1).headOption.map(_._1)
}

object Timers {
  final case class Round(domain: Byte, timers: Array[(Long, UnsafeRow)], through: Long) {
    def isEmpty: Boolean = timers.isEmpty
  }

  private val NoTimers = Array.empty[(Long, UnsafeRow)]

  val EventTime: Byte = 0
  val ProcessingTime: Byte = 1
  private val Register: Byte = 0

  private val Time = "expiryTimestampMs"
  private val Key = "key"

  /** Spark's names and layout of its own index by time. */
  private val families = mutable.ArraySeq("$eventTimers_timestampToKey", "$procTimers_timestampToKey")
  def family(domain: Byte): String = families(domain.toInt)
  def names: Seq[String] = families.toSeq

  def storedKey(keySchema: StructType): StructType = TimeOrderedRows.schema(keySchema, Time, Key)
  val valueSchema: StructType = StructType(Array(StructField("__dummy__", NullType)))

  val sent: StructType = new StructType()
    .add("slot", IntegerType, nullable = false)
    .add("time", LongType, nullable = false)
    .add("domain", ByteType, nullable = false)

  val changed: StructType = sent.add("op", ByteType, nullable = false)
}
