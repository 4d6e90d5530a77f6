package io.snapline.checkpoint.history

import com.fasterxml.jackson.databind.node.ObjectNode

import io.snapline.checkpoint.{FailureReason, PendingCheckpoint}

/** The figures of a checkpoint as the coordinator has them.
  *
  * @param checkpoint
  *   as it was when it came to its end, or as it is
  * @param ended
  *   when it completed or failed
  */
final case class CheckpointStatistics(
    checkpoint: PendingCheckpoint,
    status: CheckpointStatus,
    ended: Option[Long] = None,
    failure: Option[(FailureReason, String)] = None,
    metadataBytes: Long = 0,
    discarded: Boolean = false
) extends CheckpointFigures {
  override def id: Long = checkpoint.id
  override def statusName: String = status.name
  override def propertiesName: String = checkpoint.properties.name
  override def savepoint: Boolean = checkpoint.properties.isSavepoint
  override def batch: Long = checkpoint.batch
  override def triggeredMs: Long = checkpoint.triggeredMs
  override def latestAckMs: Long = checkpoint.latestAckMs.getOrElse(-1L)
  override def endedMs: Long = ended.getOrElse(-1L)

  // Sums over all partitions, asked for again and again while it stands in the history.
  override lazy val checkpointedSize: Long = checkpoint.acked.values.map(_.handle.incrementalBytes).sum + metadataBytes
  override lazy val stateSize: Long = checkpoint.acked.values.map(_.handle.fullBytes).sum
  override lazy val inFlightSize: Long = checkpoint.acked.values.map(_.handle.inFlightBytes).sum
  override def storeCount: Int = checkpoint.expected.size
  override def ackedCount: Int = checkpoint.acked.size
  override def failed: Option[(String, String)] = failure.map { case (reason, message) => (reason.name, message) }
}

/** How far a checkpoint has come, under Flink's names. */
sealed abstract class CheckpointStatus(val name: String) {
  override def toString: String = name
}

object CheckpointStatus {
  case object InProgress extends CheckpointStatus("IN_PROGRESS")
  case object Completed extends CheckpointStatus("COMPLETED")
  case object Failed extends CheckpointStatus("FAILED")
}

/** The figures of one checkpoint, in milliseconds and bytes. A time that has not come is -1. The one place that knows
  * the members of Flink's REST interface for it.
  */
trait CheckpointFigures {
  def id: Long
  def statusName: String
  def propertiesName: String
  def savepoint: Boolean
  def batch: Long
  def triggeredMs: Long
  def latestAckMs: Long

  /** When it completed or failed. */
  def endedMs: Long

  /** Bytes that this checkpoint added to storage. */
  def checkpointedSize: Long

  /** Bytes that a load of it reads. */
  def stateSize: Long

  /** Bytes of it that are in-flight data. */
  def inFlightSize: Long
  def storeCount: Int
  def ackedCount: Int
  def discarded: Boolean

  /** Name of the reason and the message, of one that failed. */
  def failed: Option[(String, String)]

  def hasCompleted: Boolean = statusName == CheckpointStatus.Completed.name

  /** Until the last acknowledgement; of a failed one until it was aborted. */
  def duration: Long = {
    val until = if (statusName == CheckpointStatus.Failed.name) endedMs else latestAckMs
    math.max(0, until - triggeredMs)
  }

  def putInto(json: ObjectNode): Unit = {
    json.put("id", id).put("status", statusName).put("is_savepoint", savepoint)
    json.put("checkpoint_type", if (savepoint) propertiesName else "CHECKPOINT")
    json.put("properties", propertiesName).put("batch", batch)
    json.put("trigger_timestamp", triggeredMs).put("latest_ack_timestamp", latestAckMs)
    json.put("checkpointed_size", checkpointedSize).put("state_size", stateSize)
    json.put("persisted_data", inFlightSize)
    json.put("end_to_end_duration", duration)
    json.put("num_subtasks", storeCount).put("num_acknowledged_subtasks", ackedCount)
    if (hasCompleted) json.put("discarded", discarded)
    failed.foreach { case (reason, message) =>
      json.put("failure_timestamp", endedMs).put("failure_reason", reason).put("failure_message", message)
    }
  }
}
