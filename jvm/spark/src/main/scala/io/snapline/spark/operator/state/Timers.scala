package io.snapline.spark.operator.state

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.streaming.state.StateStore
import org.apache.spark.sql.execution.streaming.state.snapline.StoreCalls
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.snapline.spark.settings.WorkerLimits

/** The timers of a partition: one family for each kind of time, ordered by time. */
final class Timers(
    keySchema: StructType,
    store: StateStore,
    counts: ChangeCounts,
    pageBytes: Long = WorkerLimits.MostBytes
) {
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
    val found = if (due == Long.MinValue) Timers.NoTimers else rows.until(store, family, due, limit + 1, pageBytes)
    val isCut = found.length > limit || found.iterator.map(_._2.getSizeInBytes.toLong).sum >= pageBytes
    val all = Timers.Round(domain, found, if (found.isEmpty) due else found.last._1)
    val round = if (isCut) all.first(math.max(1, found.length - 1)) else all
    round.timers.foreach { case (time, key) => store.remove(rows.key(time, key), family) }
    counts.timersFired += round.timers.length
    round
  }

  /** Puts those timers of a round back that come after so many. */
  def giveBack(round: Timers.Round, after: Int): Unit = {
    val left = round.timers.drop(after)
    left.foreach { case (time, key) => store.put(rows.key(time, key), rows.empty, Timers.family(round.domain)) }
    counts.timersFired -= left.length
  }

  /** The time of the earliest timer, if there is one. */
  def earliest(domain: Byte): Option[Long] =
    rows.until(store, Timers.family(domain), Long.MaxValue, 1, Long.MaxValue).headOption.map(_._1)
}

object Timers {

  /** @param through
    *   up to here no timer of the store is left behind, so that a new one may be fired without asking the store
    */
  final case class Round(domain: Byte, timers: Array[(Long, UnsafeRow)], through: Long) {

    /** Without those that come after so many, which stay in the store; there may be more of the last one's time. */
    def first(count: Int): Round = {
      val next = if (count < timers.length) timers(count)._1 else timers(count - 1)._1
      copy(timers = timers.take(count), through = math.min(timers(count - 1)._1, next - 1))
    }

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
    val entries = StoreCalls.inOrder(store, family)
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
