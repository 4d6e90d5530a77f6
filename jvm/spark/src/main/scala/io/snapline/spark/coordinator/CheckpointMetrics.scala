package io.snapline.spark.coordinator

import com.codahale.metrics.{Gauge, MetricRegistry}

import io.snapline.checkpoint.history.{CheckpointHistory, CheckpointStatistics}

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
