package io.snapline.spark.ui

import scala.collection.mutable

import org.apache.spark.util.kvstore.InMemoryStore
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.checkpoint.history.CheckpointStatus
import io.snapline.spark.settings.UiSettings
import io.snapline.spark.ui.UiFixture._

class CheckpointsListenerSpec extends AnyFunSuite {
  private val small = UiSettings(enabled = true, queries = 3, checkpoints = 5, details = 4)

  test("never more than the bounds, and the newest are kept: random queries against a plain model") {
    for (seed <- 1 to 40) {
      val random = UiFixture.random(seed)
      val kv = new InMemoryStore
      val listener = new CheckpointsListener(kv, small)
      val store = new CheckpointsStore(kv)
      val ids = mutable.LinkedHashMap.empty[String, mutable.LinkedHashSet[Long]]
      val ended = mutable.LinkedHashMap.empty[String, Long]
      val details = mutable.LinkedHashSet.empty[(String, Long)]
      (1 to 200).foreach { step =>
        val running = ids.keys.filterNot(ended.contains).toIndexedSeq
        random.nextInt(10) match {
          case 0 =>
            listener.onOtherEvent(start(s"s$step", time = step.toLong))
            ids(s"s$step") = mutable.LinkedHashSet.empty
            if (ids.size > small.queries) ended.headOption.foreach { case (gone, _) =>
              ids -= gone
              ended -= gone
              details.filterInPlace(_._1 != gone)
            }
          case 1 if running.nonEmpty =>
            val name = running(random.nextInt(running.size))
            listener.onOtherEvent(CheckpointingEnded(name, step.toLong, "SUSPENDED"))
            ended(name) = step.toLong
          case _ if running.nonEmpty =>
            val name = running(random.nextInt(running.size))
            val id = if (random.nextInt(4) == 0) step.toLong - 1 else step.toLong
            listener.onOtherEvent(changed(checkpoint(name, id), totals(1, 1), partitions(Seq(1, 2))))
            ids(name) += id
            if (!details((name, id))) details += ((name, id))
            if (ids(name).size > small.checkpoints) {
              details -= ((name, ids(name).head))
              ids(name) -= ids(name).head
            }
            if (details.size > small.details) details -= details.head
          case _ => ()
        }
        assert(store.queries.map(_.start).toSet == ids.keySet, s"seed $seed, step $step")
        ids.foreach { case (name, kept) =>
          assert(store.checkpoints(name).map(_.id) == kept.toSeq.sorted.reverse, s"seed $seed, step $step")
          kept.foreach(id =>
            assert(store.partitions(name, id).isDefined == details((name, id)), s"seed $seed, step $step")
          )
        }
        assert(kv.count(classOf[PartitionsRecord]) == details.size)
        assert(kv.count(classOf[CheckpointRecord]) == ids.values.map(_.size).sum)
      }
    }
  }

  test("queries that run stay, however many") {
    val store = heard(small, (1 to 10).map(i => start(s"s$i")): _*)
    assert(store.queries.size == 10)
  }

  test("the sink of the run that a micro-batch was of is kept, and of no other") {
    val kv = new InMemoryStore
    val listener = new CheckpointsListener(kv, settings)
    Seq("s", "s2").foreach { name =>
      listener.onOtherEvent(start(name))
      listener.onOtherEvent(CheckpointingRunBegun(name, 1L, "query", s"run of $name", None))
    }
    val metrics = Map("sink" -> "out", "batch" -> "7", "partitions" -> "2", "rowsWritten" -> "9", "rowsSkipped" -> "3")
    val sink = SinkRecord.of("snapline-kafka out", metrics)
    assert(sink.contains(SinkRecord("snapline-kafka out", 7, 2, 9, 3)))
    listener.heard("run of s", sink.get)
    listener.heard("another run", sink.get.copy(batch = 8))
    val store = new CheckpointsStore(kv)
    assert(store.query("s").get.sink == sink && store.query("s2").get.sink.isEmpty)
    // Spark's own sinks.
    assert(SinkRecord.of("console", Map.empty).isEmpty)
  }

  test("a start's checkpoints are its own, even with the same numbers") {
    val store = heard(
      settings,
      start("s"),
      start("s2"),
      changed(checkpoint("s", 1, duration = 1), totals(1, 1)),
      changed(checkpoint("s2", 1, duration = 2), totals(1, 1)),
      changed(checkpoint("s2", 10, duration = 3), totals(2, 2)),
      changed(checkpoint("s2", 9, duration = 4), totals(3, 3))
    )
    assert(store.checkpoints("s").map(_.duration) == Seq(1))
    assert(store.checkpoints("s2").map(_.id) == Seq(10, 9, 1))
  }

  test("the latest of each kind, runs, and what was removed") {
    val store = heard(
      settings,
      start("s"),
      begun("s"),
      changed(checkpoint("s", 1), totals(1, 1)),
      changed(checkpoint("s", 2).copy(savepoint = true), totals(2, 2)),
      changed(checkpoint("s", 3, CheckpointStatus.Failed), totals(3, 2, 1)),
      CheckpointingRunBegun("s", 5, "q", "another run", None),
      CheckpointDiscarded("s", 1),
      CheckpointDiscarded("s", 77)
    )
    val query = store.query("s").get
    assert(query.latestCompleted.exists(c => c.id == 1 && c.discarded) && query.latestSavepoint.exists(_.id == 2))
    assert(query.latestFailed.exists(_.id == 3) && query.inProgress == 0)
    assert((query.runs, query.run, query.name) == ((2, "another run", Some("orders"))))
    assert(store.checkpoint("s", 1).get.discarded && !store.checkpoint("s", 2).get.discarded)
  }

  test("events of a start that nobody announced are passed over, and so are those of others") {
    val store = heard(settings, changed(checkpoint("x", 1), totals(1, 1)), CheckpointDiscarded("x", 1), begun("x"))
    assert(store.isEmpty && store.checkpoints("x").isEmpty)
  }
}
