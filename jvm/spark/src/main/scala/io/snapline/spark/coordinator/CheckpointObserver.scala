package io.snapline.spark.coordinator

import java.util.UUID

import com.codahale.metrics.{Gauge, MetricRegistry}

import io.snapline.checkpoint._
import io.snapline.checkpoint.history._

/** Sees what becomes of one query's checkpoints. Called under the driver's lock: it must neither block nor throw. */
private[spark] trait CheckpointObserver extends HistoryListener {

  /** The query is registered. Nothing is told before: the start may fail. */
  def started(): Unit

  /** A run begins, the first or one after a failure. */
  def begun(query: String, run: UUID): Unit

  /** Names of the stateful operators of the batch that is planned. */
  def planned(operators: Map[Long, String]): Unit

  def ended(how: Ending): Unit
}

private[spark] object CheckpointObserver {

  /** Ignores every event. */
  object None extends CheckpointObserver {
    override def started(): Unit = ()
    override def begun(query: String, run: UUID): Unit = ()
    override def planned(operators: Map[Long, String]): Unit = ()
    override def changed(checkpoint: CheckpointStatistics, history: HistoryFigures): Unit = ()
    override def discarded(id: Long): Unit = ()
    override def restored(checkpoint: RestoredCheckpoint, history: HistoryFigures): Unit = ()
    override def ended(how: Ending): Unit = ()
  }
}

/** Gives every query that is started its observer. Closed when the application ends, after the last of them has heard
  * of its query's end.
  */
private[spark] trait CheckpointObservers extends AutoCloseable {

  /** @param nameOf
    *   the name the user gave to the query of this run; may be asked for on another thread
    */
  def observer(
      folder: String,
      settings: CoordinatorSettings,
      durableBatches: Boolean,
      nameOf: UUID => Option[String]
  ): CheckpointObserver
}

/** Checkpoints of this driver in Spark's metrics system, under Flink's names. Counts are over all queries that run
  * under a coordinator now; `last…` is that of the query whose checkpoint came last. `driverMemoryBytes` is what stores
  * keep in this driver's memory.
  */
private[spark] final class CheckpointMetrics(
    histories: () => Seq[CheckpointHistory.Snapshot],
    memoryUsed: () => Long
) {
  import CheckpointMetrics._

  def register(registry: MetricRegistry): Unit = {
    count(registry, "totalNumberOfCheckpoints")(_.total)
    count(registry, "numberOfInProgressCheckpoints")(_.inProgress)
    count(registry, "numberOfCompletedCheckpoints")(_.completed)
    count(registry, "numberOfFailedCheckpoints")(_.failed)
    last(registry, "lastCheckpointDuration")(_.duration)
    last(registry, "lastCheckpointSize")(_.checkpointedSize)
    last(registry, "lastCheckpointFullSize")(_.stateSize)
    last(registry, "lastCompletedCheckpointId")(_.id)
    gauge(registry, "driverMemoryBytes")(Some(memoryUsed()))
    gauge(registry, "lastCheckpointRestoreTimestamp")(histories().flatMap(_.latestRestored).map(_.atMs).maxOption)
  }

  private def count(registry: MetricRegistry, name: String)(value: CheckpointHistory.Snapshot => Long): Unit =
    gauge(registry, name)(Some(histories().map(value).sum))

  private def last(registry: MetricRegistry, name: String)(value: CheckpointStatistics => Long): Unit =
    gauge(registry, name)(histories().flatMap(_.latestCompleted).maxByOption(_.endedMs).map(value))

  private def gauge(registry: MetricRegistry, name: String)(value: => Option[Long]): Unit =
    registry.register(name, new Gauge[Long] { override def getValue: Long = value.getOrElse(Absent) }): Unit
}

private object CheckpointMetrics {

  /** Flink's way to say that there is none. */
  private val Absent = -1L
}
