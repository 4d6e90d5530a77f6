package io.snapline.spark.ui

import scala.annotation.meta.getter

import org.apache.spark.util.kvstore.KVIndex

import io.snapline.checkpoint._
import io.snapline.checkpoint.history.{HistoryFigures, RestoredCheckpoint, Summary}

/** The checkpoints of one call of `snapline.start`, restarts included. The tab is made of these records alone. So it is
  * the same in a live application and in the history server, which keeps them as JSON.
  *
  * @param start
  *   names it, and no other start
  * @param query
  *   id in the query's checkpoint folder; empty until the first batch is planned, as `run` is
  * @param sink
  *   None, unless it has each row once
  * @param ending
  *   how it ended; empty as long as it has not
  */
final case class QueryRecord(
    @(KVIndex @getter) start: String,
    startedMs: Long,
    folder: String,
    config: ConfigRecord,
    name: Option[String] = None,
    query: String = "",
    run: String = "",
    runs: Int = 0,
    ending: String = "",
    endedMs: Long = -1,
    total: Long = 0,
    completed: Long = 0,
    failed: Long = 0,
    restored: Long = 0,
    checkpointedSize: Summary = Summary(),
    stateSize: Summary = Summary(),
    duration: Summary = Summary(),
    inFlightSize: Summary = Summary(),
    latestCompleted: Option[CheckpointRecord] = None,
    latestSavepoint: Option[CheckpointRecord] = None,
    latestFailed: Option[CheckpointRecord] = None,
    latestRestored: Option[RestoredCheckpoint] = None,
    sink: Option[SinkRecord] = None
) extends HistoryFigures {
  def running: Boolean = ending.isEmpty

  def withTotals(t: Totals): QueryRecord = copy(
    total = t.total,
    completed = t.completed,
    failed = t.failed,
    restored = t.restored,
    checkpointedSize = t.checkpointedSize,
    stateSize = t.stateSize,
    duration = t.duration,
    inFlightSize = t.inFlightSize
  )
}

/** @param intervalMs
  *   greatest number there is: none but those that are asked for
  * @param durableBatches
  *   every batch is durable by itself; checkpoints are extra
  */
final case class ConfigRecord(
    intervalMs: Long,
    timeoutMs: Long,
    minPauseMs: Long,
    maxConcurrent: Int,
    tolerableFailures: Int,
    retained: Int,
    retention: String,
    durableBatches: Boolean,
    mode: String = CheckpointingMode.ExactlyOnce.name
) {
  def periodic: Boolean = intervalMs != Long.MaxValue
}

object ConfigRecord {
  def of(settings: CoordinatorSettings, durableBatches: Boolean): ConfigRecord = ConfigRecord(
    settings.intervalMs.getOrElse(0L),
    settings.timeoutMs,
    settings.minPauseMs,
    settings.maxConcurrent,
    settings.tolerableFailures,
    settings.retained,
    settings.retention.name,
    durableBatches,
    settings.mode.name
  )
}

/** Figures over all checkpoints of a start. Absolute, so that an event that got lost is made good by the next. */
final case class Totals(
    total: Long,
    completed: Long,
    failed: Long,
    restored: Long,
    checkpointedSize: Summary,
    stateSize: Summary,
    duration: Summary,
    inFlightSize: Summary = Summary()
)

object Totals {
  def of(h: HistoryFigures): Totals =
    Totals(h.total, h.completed, h.failed, h.restored, h.checkpointedSize, h.stateSize, h.duration, h.inFlightSize)
}
