package io.snapline.checkpoint.history

import com.fasterxml.jackson.databind.node.ObjectNode

/** What one checkpoint took and came to. Milliseconds, bytes; a time that has not come is -1. The one place that knows
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

  /** What this checkpoint added to storage. */
  def checkpointedSize: Long

  /** What it takes to load it. */
  def stateSize: Long

  /** Of it, rows that had come and were not processed. */
  def inFlightSize: Long
  def storeCount: Int
  def ackedCount: Int
  def discarded: Boolean

  /** Name of the reason and the message, of one that failed. */
  def failed: Option[(String, String)]

  def hasCompleted: Boolean = statusName == CheckpointStatus.Completed.name

  /** Until the last acknowledgement; of a failed one until it was given up. */
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
