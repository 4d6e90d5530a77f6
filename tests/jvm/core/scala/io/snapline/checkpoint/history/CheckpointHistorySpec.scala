package io.snapline.checkpoint.history

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.checkpoint.{CheckpointProperties, CoordinatorSettings}
import io.snapline.checkpoint.coordinator.CoordinatorFixture

class CheckpointHistorySpec extends AnyFunSuite with CoordinatorFixture {
  private def parse(json: String): JsonNode = new ObjectMapper().readTree(json)

  test("one checkpoint, from its trigger to its end") {
    val c = coordinator()
    c.plan(4, 1000)
    c.acknowledged(ack(1, left, handle(5, file(), file())), 1200)
    val before = parse(c.history.snapshot.json).get("history").get(0)
    assert(before.get("status").asText == "IN_PROGRESS" && before.get("num_acknowledged_subtasks").asInt == 1)
    c.acknowledged(ack(1, right, handle(5, file()).copy(uploadedBytes = 40)), 1500)
    c.batchCommitted(4, 1600)
    c.metadataWritten(1, 50, 1900)
    val json = parse(c.history.snapshot.json).get("history").get(0)
    assert(json.get("id").asLong == 1 && json.get("status").asText == "COMPLETED")
    assert(!json.get("is_savepoint").asBoolean && json.get("checkpoint_type").asText == "CHECKPOINT")
    assert(json.get("trigger_timestamp").asLong == 1000 && json.get("latest_ack_timestamp").asLong == 1500)
    assert(json.get("end_to_end_duration").asLong == 500 && json.get("batch").asLong == 4)
    assert(json.get("state_size").asLong == 300)
    assert(json.get("checkpointed_size").asLong == 200 + 10 + 40 + 10 + 50)
    assert(json.get("num_subtasks").asInt == 2 && json.get("num_acknowledged_subtasks").asInt == 2)
    assert(!json.get("discarded").asBoolean && !json.has("failure_message"))
    c.complete(5, 2000)
    assert(c.history.snapshot.checkpoints(1).discarded && !c.history.snapshot.checkpoints(2).discarded)
  }

  test("counts, the latest of each kind, and the summary of those that completed") {
    val c = coordinator(CoordinatorSettings(tolerableFailures = 9))
    c.complete(0, 100)
    c.plan(1, 200)
    c.declined(decline(2, left), 260)
    c.requested(CheckpointProperties.Savepoint)
    c.complete(2, 300)
    c.plan(3, 400)
    val json = parse(c.history.snapshot.json)
    assert(json.get("counts").toString == """{"restored":0,"total":4,"in_progress":1,"completed":2,"failed":1}""")
    assert(json.get("summary").get("state_size").toString ==
      """{"min":200,"max":200,"avg":200,"p50":200,"p90":200,"p95":200,"p99":200,"p999":200}""")
    assert(json.get("summary").get("checkpointed_size").get("avg").asLong == 270)
    val latest = json.get("latest")
    assert(latest.get("completed").get("id").asLong == 1 && latest.get("savepoint").get("id").asLong == 3)
    assert(latest.get("savepoint").get("checkpoint_type").asText == "SAVEPOINT" && latest.get("restored").isNull)
    val failed = latest.get("failed")
    assert(failed.get("id").asLong == 2 && failed.get("end_to_end_duration").asLong == 60)
    assert(failed.get("failure_message").asText == s"$left: No room." && failed.get("failure_timestamp").asLong == 260)
    assert(failed.get("failure_reason").asText == "CHECKPOINT_ASYNC_EXCEPTION")
    val history = json.get("history")
    assert((0 until history.size).map(history.get(_).get("id").asInt) == Seq(4, 3, 2, 1), "the newest first")
    c.started("r2", c.retained, 4, Some(1), 500)
    val restored = parse(c.history.snapshot.json).get("latest").get("restored")
    assert(restored.toString == """{"id":1,"restore_timestamp":500,"is_savepoint":false}""")
  }

  test("a listener hears each change once, with the history that has it") {
    val c = coordinator(CoordinatorSettings(tolerableFailures = 9))
    val heard = Seq.newBuilder[String]
    c.history.listen(new HistoryListener {
      override def changed(checkpoint: CheckpointStatistics, history: HistoryFigures): Unit =
        heard += s"${checkpoint.id} ${checkpoint.status} ${checkpoint.ackedCount} of ${history.completed}"
      override def discarded(id: Long): Unit = heard += s"$id discarded"
      override def restored(checkpoint: RestoredCheckpoint, history: HistoryFigures): Unit =
        heard += s"${checkpoint.id} restored of ${history.restored}"
    })
    c.complete(0, 100)
    c.plan(1, 200)
    c.declined(decline(2, left), 260)
    c.complete(2, 300)
    c.started("r2", c.retained, 3, Some(3), 500)
    assert(heard.result() == Seq(
      "1 IN_PROGRESS 0 of 0",
      "1 IN_PROGRESS 1 of 0",
      "1 IN_PROGRESS 2 of 0",
      "1 COMPLETED 2 of 1",
      "2 IN_PROGRESS 0 of 1",
      "2 FAILED 0 of 1",
      "3 IN_PROGRESS 0 of 1",
      "3 IN_PROGRESS 1 of 1",
      "3 IN_PROGRESS 2 of 1",
      "3 COMPLETED 2 of 2",
      "1 discarded",
      "3 restored of 1"
    ))
  }

  test("a percentile is a value that was there, and no greater than its share") {
    val percentiles = Percentiles((1L to 1000L).reverse)
    assert(percentiles.named.map(_._2) == Seq(500, 900, 950, 990, 999))
    assert(Percentiles(Seq(7L)).named.map(_._2).toSet == Set(7L))
    assert(Percentiles(Nil)(0.5) == 0)
  }

  test("the last hundred are remembered, and all are counted") {
    val c = coordinator()
    (0L until 150L).foreach(batch => c.complete(batch))
    val snapshot = c.history.snapshot
    assert(snapshot.checkpoints.keys.toSeq == (51L to 150L) && snapshot.total == 150 && snapshot.completed == 150)
    assert(snapshot.latestCompleted.exists(_.id == 150) && snapshot.stateSize.count == 150)
  }

  test("a summary of nothing is zero") {
    val none = Summary()
    assert((none.min, none.max, none.avg) == ((0, 0, 0)))
    val some = Seq(5L, 1L, 6L).foldLeft(none)(_ add _)
    assert((some.min, some.max, some.avg) == ((1, 6, 4)))
  }
}
