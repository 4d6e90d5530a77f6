package io.snapline.spark.ui

import org.apache.spark.scheduler.SparkListenerEvent

import io.snapline.checkpoint.history.RestoredCheckpoint

/** What happens to checkpoints, on Spark's listener bus. Spark writes these classes into the event log as JSON, by
  * their names and those of their fields (docs/notes/007): a field may be added, never renamed or removed.
  */
sealed trait CheckpointEvent extends SparkListenerEvent {

  /** Names the start of a query. */
  def start: String
}

final case class CheckpointingStarted(start: String, time: Long, folder: String, config: ConfigRecord)
    extends CheckpointEvent

/** A run of the query begins, the first or one after a failure. */
final case class CheckpointingRunBegun(start: String, time: Long, query: String, run: String, name: Option[String])
    extends CheckpointEvent

final case class CheckpointRestored(start: String, checkpoint: RestoredCheckpoint, totals: Totals)
    extends CheckpointEvent

/** Triggered, under way, or ended. */
final case class CheckpointChanged(
    start: String,
    checkpoint: CheckpointRecord,
    totals: Totals,
    partitions: Seq[OperatorPartitions]
) extends CheckpointEvent {

  /** How far it has come is for those who look at it now. */
  override def logEvent: Boolean = !checkpoint.inProgress || checkpoint.ackedCount == 0
}

/** A completed checkpoint was removed, by newer ones or by a person. */
final case class CheckpointDiscarded(start: String, id: Long) extends CheckpointEvent

final case class CheckpointingEnded(start: String, time: Long, ending: String) extends CheckpointEvent
