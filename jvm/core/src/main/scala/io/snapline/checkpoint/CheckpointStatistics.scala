package io.snapline.checkpoint

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode

/** What one checkpoint took and came to, with the members of Flink's REST interface. Milliseconds, bytes.
  *
  * @param checkpoint
  *   as it was when it came to its end, or as it is
  * @param endedMs
  *   when it completed or failed
  */
final case class CheckpointStatistics(
    checkpoint: PendingCheckpoint,
    status: CheckpointStatus,
    endedMs: Option[Long] = None,
    failure: Option[(FailureReason, String)] = None,
    metadataBytes: Long = 0,
    discarded: Boolean = false
) {
  def id: Long = checkpoint.id

  /** What this checkpoint added to storage. */
  def checkpointedSize: Long = checkpoint.acked.values.map(_.handle.incrementalBytes).sum + metadataBytes

  /** What it takes to load it. */
  def stateSize: Long = checkpoint.acked.values.map(_.handle.fullBytes).sum

  /** Until the last acknowledgement; of a failed one until it was given up. */
  def duration: Long = {
    val until = if (status == CheckpointStatus.Failed) endedMs else checkpoint.latestAckMs
    math.max(0, until.getOrElse(checkpoint.triggeredMs) - checkpoint.triggeredMs)
  }

  def putInto(json: ObjectNode): Unit = {
    json.put("id", id).put("status", status.name).put("is_savepoint", checkpoint.properties.isSavepoint)
    json.put("checkpoint_type", if (checkpoint.properties.isSavepoint) checkpoint.properties.name else "CHECKPOINT")
    json.put("properties", checkpoint.properties.name).put("batch", checkpoint.batch)
    json.put("trigger_timestamp", checkpoint.triggeredMs)
    json.put("latest_ack_timestamp", checkpoint.latestAckMs.getOrElse(-1L))
    json.put("checkpointed_size", checkpointedSize).put("state_size", stateSize)
    json.put("end_to_end_duration", duration)
    json.put("num_subtasks", checkpoint.expected.size).put("num_acknowledged_subtasks", checkpoint.acked.size)
    if (status == CheckpointStatus.Completed) json.put("discarded", discarded)
    failure.foreach { case (reason, message) =>
      json.put("failure_timestamp", endedMs.getOrElse(-1L)).put("failure_reason", reason.name)
      json.put("failure_message", message)
    }
  }

  /** Each operator with its stores, which stand where Flink's subtasks do. */
  private def putTasksInto(json: ObjectNode): Unit = {
    val tasks = json.putObject("tasks")
    checkpoint.expected.groupBy(_.operator).toSeq.sortBy(_._1).foreach { case (operator, stores) =>
      val task = tasks.putObject(operator.toString)
      val acked = stores.toSeq.sortBy(store => (store.partition, store.store))
        .flatMap(store => checkpoint.acked.get(store).map(store -> _))
      task.put("num_subtasks", stores.size).put("num_acknowledged_subtasks", acked.size)
      task.put("checkpointed_size", acked.map(_._2.handle.incrementalBytes).sum)
      task.put("state_size", acked.map(_._2.handle.fullBytes).sum)
      val subtasks = task.putArray("subtasks")
      acked.foreach { case (store, Acked(handle, atMs)) =>
        val subtask = subtasks.addObject()
        subtask.put("index", store.partition).put("store", store.store).put("ack_timestamp", atMs)
        subtask.put("end_to_end_duration", math.max(0, atMs - checkpoint.triggeredMs))
        subtask.put("checkpointed_size", handle.incrementalBytes).put("state_size", handle.fullBytes)
        subtask.putObject("checkpoint").put("sync", handle.syncMs).put("async", handle.asyncMs)
      }
    }
  }

  def json: String = {
    val mapper = new ObjectMapper
    val json = mapper.createObjectNode()
    putInto(json)
    putTasksInto(json)
    mapper.writeValueAsString(json)
  }
}
