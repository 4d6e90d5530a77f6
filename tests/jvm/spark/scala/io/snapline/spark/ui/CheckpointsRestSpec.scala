package io.snapline.spark.ui

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.spark.ui.UiFixture._

/** Members are those of Flink 2.3 (flink-runtime, rest/messages/checkpoints); ours come on top. */
class CheckpointsRestSpec extends AnyFunSuite {
  private val rest = new CheckpointsRest(ofEachKind())

  private def names(json: JsonNode): Set[String] = json.fieldNames.asScala.toSet

  private val ofCheckpoint = Set(
    "id",
    "status",
    "is_savepoint",
    "checkpoint_type",
    "trigger_timestamp",
    "latest_ack_timestamp",
    "checkpointed_size",
    "state_size",
    "end_to_end_duration",
    "persisted_data",
    "num_subtasks",
    "num_acknowledged_subtasks"
  )

  test("statistics") {
    val json = rest.statistics("s", 0, 100).get
    assert(names(json) == Set("counts", "summary", "latest", "history"))
    assert(json.get("counts").toString == """{"restored":1,"total":4,"in_progress":1,"completed":2,"failed":1}""")
    assert(names(json.get("summary")) ==
      Set("checkpointed_size", "state_size", "end_to_end_duration", "persisted_data"))
    val duration = json.get("summary").get("end_to_end_duration")
    assert(names(duration) == Set("min", "max", "avg", "p50", "p90", "p95", "p99", "p999"))
    assert(duration.get("p50").asLong == 250 && duration.get("p99").asLong == 500)
    assert(names(json.get("latest")) == Set("completed", "savepoint", "failed", "restored"))
    val history = json.get("history").asScala.toSeq
    assert(history.map(_.get("id").asLong) == Seq(4, 3, 2, 1) && history.forall(c => ofCheckpoint.subsetOf(names(c))))
    assert(names(history(2)).contains("failure_message") && names(history(1)).contains("discarded"))
  }

  test("a piece of the history") {
    def ids(offset: Int, length: Int): Seq[Long] =
      rest.statistics("s", offset, length).get.get("history").asScala.map(_.get("id").asLong).toSeq
    assert(ids(1, 2) == Seq(3, 2) && ids(9, 2) == Nil && ids(0, 0) == Nil)
    assert(ids(2, Int.MaxValue) == Seq(2, 1))
  }

  test("a query by Spark's id of it is its last start") {
    val two = new CheckpointsRest(heard(
      settings,
      start("a", time = 1),
      begun("a").copy(query = "q"),
      start("b", time = 2),
      begun("b").copy(query = "q"),
      changed(checkpoint("b", 5), totals(1, 1))
    ))
    assert(two.statistics("q", 0, 9).get.get("history").get(0).get("id").asLong == 5)
    assert(two.queries.asScala.map(_.get("id").asText).toSeq == Seq("b", "a"))
  }

  test("configuration") {
    val json = rest.config("s").get
    assert(Set(
      "mode",
      "interval",
      "timeout",
      "min_pause",
      "max_concurrent",
      "tolerable_failed_checkpoints",
      "checkpoint_storage"
    ).subsetOf(names(json)))
    assert(json.get("interval").asLong == 10000)
  }

  test("details, and the subtasks of one operator") {
    val json = rest.details("s", 2).get
    assert(ofCheckpoint.subsetOf(names(json)) && names(json.get("tasks")) == Set("0"))
    assert(json.get("tasks").get("0").get("num_acknowledged_subtasks").asInt == 2)
    val subtasks = rest.subtasks("s", 2, 0).get
    assert(names(subtasks.get("summary")) ==
      Set("checkpointed_size", "state_size", "end_to_end_duration", "checkpoint_duration", "alignment", "start_delay"))
    val all = subtasks.get("subtasks").asScala.toSeq
    assert(all.map(_.get("status").asText) == Seq("completed", "pending_or_failed", "completed", "pending_or_failed"))
    assert(names(all.head) == Set(
      "index",
      "store",
      "status",
      "ack_timestamp",
      "end_to_end_duration",
      "checkpointed_size",
      "state_size",
      "checkpoint",
      "alignment",
      "start_delay"
    ))
    assert(all.head.get("alignment").toString == """{"duration":20,"persisted":0}""")
    assert(all.head.get("checkpoint").toString == """{"sync":1,"async":2}""" && all.head.get("start_delay").asLong == 7)
  }

  test("what is not known is none") {
    assert(rest.statistics("x", 0, 1).isEmpty && rest.config("x").isEmpty)
    assert(rest.details("s", 99).isEmpty && rest.subtasks("s", 1, 99).isEmpty && rest.subtasks("s", 99, 0).isEmpty)
  }
}
