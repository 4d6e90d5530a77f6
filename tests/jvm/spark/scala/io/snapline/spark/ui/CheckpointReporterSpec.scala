package io.snapline.spark.ui

import java.util.UUID
import java.util.concurrent.{ConcurrentLinkedQueue, Executors, TimeUnit}

import scala.jdk.CollectionConverters._

import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.snapline.checkpoint._
import io.snapline.checkpoint.coordinator.CoordinatorFixture

class CheckpointReporterSpec extends AnyFunSuite with CoordinatorFixture with Eventually {
  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(20, Seconds), Span(20, Millis))

  private val start = CheckpointReporter.Start("s", "file:/c", UiFixture.config)

  private final class Told {
    private val events = new ConcurrentLinkedQueue[CheckpointEvent]
    private val worker = Executors.newSingleThreadScheduledExecutor()
    val run: UUID = UUID.randomUUID()
    val reporter =
      new CheckpointReporter(start, worker, event => events.add(event): Unit, id => Option.when(id == run)("mine"))

    def all: Seq[CheckpointEvent] = events.asScala.toSeq
    def changes: Seq[CheckpointChanged] = all.collect { case event: CheckpointChanged => event }

    def close(): Unit = {
      worker.shutdown()
      assert(worker.awaitTermination(20, TimeUnit.SECONDS))
    }
  }

  private def stores(count: Int): Set[StoreId] = (0 until count).map(StoreId(3, _, "default")).toSet

  test("a life in order: start, run, checkpoint with the names of its operators, end") {
    val told = new Told
    val c = coordinator()
    told.reporter.started()
    c.history.listen(told.reporter)
    told.reporter.begun("q", told.run)
    told.reporter.planned(Map(0L -> "dedupe"))
    c.complete(0, 100)
    c.complete(1, 200)
    told.reporter.ended(Ending.Canceled)
    told.close()
    val events = told.all
    assert(events.head.isInstanceOf[CheckpointingStarted] && events.forall(_.start == "s"))
    assert(events.collect { case e: CheckpointingRunBegun => (e.query, e.run, e.name) } ==
      Seq(("q", told.run.toString, Some("mine"))))
    val ended = told.changes.filter(_.checkpoint.hasCompleted)
    assert(ended.map(_.checkpoint.id) == Seq(1, 2) && ended.map(_.totals.completed) == Seq(1, 2))
    assert(ended.head.checkpoint.operators.map(o => (o.name, o.ackedCount)) == Seq(("dedupe", 2)))
    assert(ended.head.checkpoint.stateSize == ended.head.partitions.flatMap(_.stateSize).sum)
    assert(events.collect { case e: CheckpointDiscarded => e.id } == Seq(1))
    assert(events.last == CheckpointingEnded("s", events.last.asInstanceOf[CheckpointingEnded].time, "CANCELED"))
  }

  test(
    "thousands of acknowledgements are a few events, the last state among them; none but the first and the last is logged"
  ) {
    val told = new Told
    val c = coordinator()
    c.history.listen(told.reporter)
    val expected = stores(2000)
    val id = c.batchPlanned(0, expected, 0).get
    expected.toSeq.dropRight(2).foreach(store => c.acknowledged(ack(id, store, handle(1)), 50))
    eventually(assert(told.changes.last.checkpoint.ackedCount == 1998))
    assert(told.changes.size <= 5)
    assert(told.changes.map(_.logEvent) == (true +: Seq.fill(told.changes.size - 1)(false)))
    val missing = told.changes.last.partitions.head.rows.filterNot(_.acked)
    assert(missing.size == 2 && told.changes.last.partitions.head.size == 2000)
    c.declined(Decline("q", "r", id, expected.toSeq.last, FailureReason.AsyncFailure, "x" * 1000000), 60)
    told.close()
    val last = told.changes.last
    assert(last.logEvent && last.checkpoint.failureReason.contains("CHECKPOINT_ASYNC_EXCEPTION"))
    assert(last.checkpoint.failureMessage.get.length == 10000)
  }

  test("of more stores than are kept, those that are missing and the slowest") {
    val c = coordinator()
    val expected = stores(OperatorPartitions.Most + 500)
    c.batchPlanned(0, expected, 0)
    expected.toSeq.sortBy(_.partition).dropRight(1).foreach { store =>
      c.acknowledged(ack(1, store, handle(1)), store.partition.toLong)
    }
    val Seq(kept) = OperatorPartitions.of(c.inProgress.head): @unchecked
    assert(kept.all == expected.size && kept.size == OperatorPartitions.Most)
    assert(kept.rows.head.partition == 500 && !kept.rows.last.acked)
  }

  test("nothing is told of a start that was refused") {
    val told = new Told
    told.reporter.ended(Ending.Suspended)
    told.close()
    assert(told.all.isEmpty)
  }

  test("a failure to tell is no failure of the checkpoint") {
    val worker = Executors.newSingleThreadScheduledExecutor()
    val c = coordinator()
    c.history.listen(new CheckpointReporter(start, worker, _ => throw new IllegalStateException("bus"), _ => None))
    c.complete(0, 100)
    worker.shutdown()
    assert(worker.awaitTermination(20, TimeUnit.SECONDS) && c.retained.map(_.id) == Seq(1))
    c.complete(1, 200)
  }
}
