package io.snapline.checkpoint.history

/** How far a checkpoint has come, under Flink's names. */
sealed abstract class CheckpointStatus(val name: String) {
  override def toString: String = name
}

object CheckpointStatus {
  case object InProgress extends CheckpointStatus("IN_PROGRESS")
  case object Completed extends CheckpointStatus("COMPLETED")
  case object Failed extends CheckpointStatus("FAILED")
}
