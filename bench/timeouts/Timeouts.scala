package io.snapline.bench

import org.apache.spark.sql.{DataFrame, Encoder, Encoders, KeyValueGroupedDataset, Row}
import org.apache.spark.sql.streaming._

/** A key's newest time, in two of Spark's operators: kept until the watermark has passed it, and put out then. */
object Timeouts {
  private implicit val long: Encoder[Long] = Encoders.scalaLong
  private implicit val pairs: Encoder[(Long, Long)] = Encoders.tuple(long, long)

  /** @param rows
    *   of columns `key` and `time`, with a watermark
    */
  def flatMapGroups(rows: DataFrame): DataFrame =
    byKey(rows)
      .flatMapGroupsWithState[Long, (Long, Long)](OutputMode.Append(), GroupStateTimeout.EventTimeTimeout())(keep)
      .toDF("key", "time")

  /** @param rows
    *   of columns `key` and `time`, with a watermark
    */
  def timers(rows: DataFrame): DataFrame =
    byKey(rows)
      .transformWithState(new NewestTime, TimeMode.EventTime(), OutputMode.Append())
      .toDF("key", "time")

  // Rows as they come: Spark looks for the watermark in their columns.
  private def byKey(rows: DataFrame): KeyValueGroupedDataset[Long, Row] =
    rows.groupBy("key").as[Long, Row](long, Encoders.row(rows.schema))

  private[bench] def newest(rows: Iterator[Row]): Long = rows.map(_.getTimestamp(1).getTime).max

  private def keep(key: Long, rows: Iterator[Row], state: GroupState[Long]): Iterator[(Long, Long)] =
    if (state.hasTimedOut) {
      val gone = key -> state.get
      state.remove()
      Iterator(gone)
    } else {
      val time = newest(rows).max(state.getOption.getOrElse(0L))
      state.update(time)
      state.setTimeoutTimestamp(time + 1)
      Iterator.empty
    }
}

class NewestTime extends StatefulProcessor[Long, Row, (Long, Long)] {
  @transient private var newest: ValueState[Long] = _

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit =
    newest = getHandle.getValueState("newest", Encoders.scalaLong, TTLConfig.NONE)

  override def handleInputRows(key: Long, rows: Iterator[Row], timers: TimerValues): Iterator[(Long, Long)] = {
    val before = if (newest.exists()) newest.get() else 0L
    val now = Timeouts.newest(rows).max(before)
    if (before > 0) getHandle.deleteTimer(before + 1)
    newest.update(now)
    getHandle.registerTimer(now + 1)
    Iterator.empty
  }

  override def handleExpiredTimer(key: Long, timers: TimerValues, expired: ExpiredTimerInfo): Iterator[(Long, Long)] = {
    val gone = key -> newest.get()
    newest.clear()
    Iterator(gone)
  }
}
