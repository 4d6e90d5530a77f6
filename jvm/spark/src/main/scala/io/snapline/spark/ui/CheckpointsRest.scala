package io.snapline.spark.ui

import java.util.Locale

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

import io.snapline.checkpoint.history.{CheckpointStatus, Percentiles}

/** The tab's content as JSON with the members of Flink's REST interface. A job is a start of a query; a subtask is a
  * store of a partition. Each answer is None if its subject is not known.
  */
final class CheckpointsRest(store: CheckpointsStore) {
  private val mapper = new ObjectMapper

  /** Every start, the last first. */
  def queries: ArrayNode = {
    val array = mapper.createArrayNode()
    store.queries.foreach { query =>
      val json = array.addObject()
      json.put("id", query.start).put("name", query.name.orNull).put("status", QueryPage.statusOf(query))
      json.put("query_id", query.query).put("run_id", query.run).put("runs", query.runs)
      json.put("start_time", query.startedMs).put("end_time", query.endedMs).put("checkpoint_folder", query.folder)
    }
    array
  }

  /** @param offset
    *   offset in the history, which begins with the newest
    */
  def statistics(id: String, offset: Int, length: Int): Option[ObjectNode] = find(id).map { query =>
    val json = mapper.createObjectNode()
    val known = store.checkpoints(query.start)
    query.putInto(json, known, known.drop(offset).take(length))
    json
  }

  def config(id: String): Option[ObjectNode] = find(id).map { query =>
    val config = query.config
    val json = mapper.createObjectNode()
    json.put(
      "mode",
      config.mode.toLowerCase(Locale.ROOT)
    ).put("interval", config.intervalMs).put("timeout", config.timeoutMs)
    json.put("min_pause", config.minPauseMs).put("max_concurrent", config.maxConcurrent)
    json.put("tolerable_failed_checkpoints", config.tolerableFailures).put("num_retained", config.retained)
    json.put("retention", config.retention).put("checkpoint_storage", query.folder)
    json.put("durable_batches", config.durableBatches)
    json
  }

  def details(id: String, checkpoint: Long): Option[ObjectNode] =
    for {
      query <- find(id)
      c <- store.checkpoint(query.start, checkpoint)
    } yield {
      val json = mapper.createObjectNode()
      c.putInto(json)
      val tasks = json.putObject("tasks")
      c.operators.foreach(operator => putTask(tasks.putObject(operator.id.toString), c, operator))
      json
    }

  /** None also if the figures of the partitions are not kept any more. */
  def subtasks(id: String, checkpoint: Long, operator: Long): Option[ObjectNode] =
    for {
      query <- find(id)
      c <- store.checkpoint(query.start, checkpoint)
      task <- c.operators.find(_.id == operator)
      partitions <- store.partitions(query.start, checkpoint).flatMap(_.operators.find(_.operator == operator))
    } yield {
      val json = mapper.createObjectNode()
      putTask(json, c, task)
      val rows = partitions.rows
      putSpread(json.putObject("summary"), rows.filter(_.acked))
      val array = json.putArray("subtasks")
      rows.foreach(putSubtask(array.addObject(), c, _))
      json
    }

  /** By the id of the start, or by Spark's id of the query, which means its last start. */
  private def find(id: String): Option[QueryRecord] = store.query(id).orElse(store.queries.find(_.query == id))

  private def putTask(json: ObjectNode, c: CheckpointRecord, task: OperatorRecord): Unit = {
    val status = if (task.ackedCount == task.storeCount) CheckpointStatus.Completed.name else c.statusName
    json.put("id", c.id).put("operator", task.id).put("name", task.name).put("status", status)
    json.put("latest_ack_timestamp", task.latestAckMs)
    json.put("checkpointed_size", task.checkpointedSize).put("state_size", task.stateSize)
    json.put("persisted_data", task.inFlightSize)
    json.put("end_to_end_duration", math.max(0, task.latestAckMs - c.triggeredMs))
    json.put("num_subtasks", task.storeCount).put("num_acknowledged_subtasks", task.ackedCount): Unit
  }

  private def putSpread(json: ObjectNode, acked: Seq[PartitionFigures]): Unit = {
    def put(to: ObjectNode, name: String, value: PartitionFigures => Long): Unit = {
      val values = acked.map(value)
      val figures = to.putObject(name)
      figures.put("min", values.minOption.getOrElse(0L)).put("max", values.maxOption.getOrElse(0L))
      figures.put("avg", if (values.isEmpty) 0 else values.sum / values.size)
      Percentiles(values).named.foreach { case (share, figure) => figures.put(share, figure) }
    }
    put(json, "checkpointed_size", _.checkpointedSize)
    put(json, "state_size", _.stateSize)
    put(json, "end_to_end_duration", _.duration)
    val phases = json.putObject("checkpoint_duration")
    put(phases, "sync", _.sync)
    put(phases, "async", _.async)
    val alignment = json.putObject("alignment")
    put(alignment, "duration", _.alignment)
    put(alignment, "persisted", _.inFlightSize)
    put(json, "start_delay", _.startDelay)
  }

  private def putSubtask(json: ObjectNode, c: CheckpointRecord, p: PartitionFigures): Unit = {
    json.put("index", p.partition).put("store", p.store)
    json.put("status", if (p.acked) "completed" else "pending_or_failed")
    if (p.acked) {
      json.put("ack_timestamp", c.triggeredMs + p.duration).put("end_to_end_duration", p.duration)
      json.put("checkpointed_size", p.checkpointedSize).put("state_size", p.stateSize)
      json.putObject("checkpoint").put("sync", p.sync).put("async", p.async)
      json.putObject("alignment").put("duration", p.alignment).put("persisted", p.inFlightSize)
      json.put("start_delay", p.startDelay): Unit
    }
  }
}
