package io.snapline.spark.coordinator

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.checkpoint._
import io.snapline.checkpoint.coordinator.{Action, CheckpointCoordinator, CoordinatorFixture}
import io.snapline.snapshot.format.VersionRef
import io.snapline.spark.protocol.{HeldStore, HolderOrder, HoldersReport}

class BetweenBatchesSpec extends AnyFunSuite with CoordinatorFixture {
  private val settings = CoordinatorSettings(intervalMs = Some(1000000))
  private val batch = 6L

  /** Batch 6 is committed at 10, and no checkpoint was due. */
  private def lagging(
      expected: Set[StoreId] = both,
      settings: CoordinatorSettings = settings
  ): CheckpointCoordinator = {
    val c = coordinator(settings)
    c.complete(0)
    c.batchPlanned(batch, expected, 5)
    c.batchCommitted(batch, 10)
    assert(c.lagging.isDefined)
    c
  }

  private def says(between: BetweenBatches, executor: String, atMs: Long, stores: (StoreId, VersionRef)*): Unit = {
    val held = stores.map { case (store, ref) => HeldStore("r", store, ref) }
    between.heardOf(HoldersReport(executor, Seq("r"), held), "r", atMs)
  }

  private def version(number: Long, by: String): VersionRef = VersionRef(number, s"by $by")

  /** Version 7 of both stores, on two executors that were heard of at 10. */
  private def known(): BetweenBatches = {
    val between = new BetweenBatches(savepoints = true)
    says(between, "one", 10, left -> version(7, "one"))
    says(between, "two", 10, right -> version(7, "two"))
    assert(between.canTake(lagging(), 20))
    between
  }

  private def later(): CheckpointCoordinator = {
    val c = lagging()
    c.batchPlanned(batch + 1, both, 15)
    c.batchCommitted(batch + 1, 16)
    c
  }

  test("each store has to have one holder of the barrier's version, and it has to live") {
    assert(!new BetweenBatches(savepoints = true).canTake(lagging(), 20))
    assert(!known().canTake(lagging(), 10011), "silent")
    assert(!known().canTake(later(), 20), "an older version")
    assert(!known().canTake(lagging(both + StoreId(1, 0, "default")), 20), "a store nobody holds")
    assert(!known().canTake(coordinator(settings), 20), "no barrier")
  }

  test("two attempts that came to a good end: nobody knows which of them counts") {
    val between = known()
    says(between, "two", 10, left -> version(7, "two"))
    assert(!between.canTake(lagging(), 20))
    // A message that comes twice says nothing new.
    val again = known()
    says(again, "one", 10, left -> version(7, "one"))
    assert(again.canTake(lagging(), 20))
  }

  test(
    "a newer version takes the place of all that was known, a late word of an older one or of another run changes nothing"
  ) {
    val between = known()
    says(between, "one", 10, left -> version(6, "late"))
    between.heardOf(HoldersReport("one", Seq("s"), Seq(HeldStore("s", left, version(9, "another run")))), "r", 10)
    assert(between.canTake(lagging(), 20))
    says(between, "one", 10, left -> version(8, "new"))
    assert(!between.canTake(lagging(), 20) && !between.canTake(later(), 20))
    says(between, "one", 10, right -> version(8, "new too"))
    assert(between.canTake(later(), 20))
    between.begun()
    assert(!between.canTake(later(), 20))
  }

  test("an executor is told what it holds until that is acknowledged, and nobody else is") {
    val between = known()
    val c = lagging()
    assert(between.orders("one", c).isEmpty)
    assert(between.take(c, last = true, 20))
    val order = HolderOrder.Take("q", "r", left, version(7, "one"), 2)
    assert(between.orders("one", c) == Seq(order))
    assert(between.orders("three", c).isEmpty)
    c.acknowledged(ack(2, left, handle(7, file())), 30)
    assert(between.orders("one", c).isEmpty)
    assert(between.orders("two", c).nonEmpty)
    c.started("s", Nil, 0, None, 40)
    assert(between.orders("two", c).isEmpty, "given up")
  }

  test("where rows may wait no savepoint is taken") {
    Seq(true, false).foreach { savepoints =>
      val between = new BetweenBatches(savepoints)
      says(between, "one", 10, left -> version(7, "one"), right -> version(7, "one"))
      val c = lagging()
      c.requested(CheckpointProperties.Savepoint)
      assert(between.take(c, last = false, 20) == savepoints)
    }
  }

  test("whoever is not heard of any more ends the checkpoint, unless he has answered") {
    def taken(): (BetweenBatches, CheckpointCoordinator) = {
      val between = known()
      val c = lagging()
      assert(between.take(c, last = true, 20))
      assert(between.ticked(c, 30).isEmpty)
      says(between, "one", 10000)
      (between, c)
    }
    val (between, c) = taken()
    val Some(abort) = between.ticked(c, 10011).collectFirst { case abort: Action.Abort => abort }: @unchecked
    assert(abort.reason == FailureReason.Closing && abort.message.contains("two is not heard of"))
    val (answered, d) = taken()
    d.acknowledged(ack(2, right, handle(7, file())), 40)
    assert(answered.ticked(d, 10011).isEmpty)
  }

  test("a checkpoint waits for a pause; whoever came in a batch's way waits for longer, until one comes to its end") {
    import BetweenBatches.{FirstPauseMs, LongestPauseMs}
    def takes(between: BetweenBatches, pauseMs: Long): Boolean = {
      val c = lagging(settings = settings.copy(intervalMs = Some(10)))
      says(between, "one", 10 + pauseMs)
      says(between, "two", 10 + pauseMs)
      between.ticked(c, 10 + pauseMs)
      c.inProgress.nonEmpty
    }
    val between = known()
    assert(!takes(between, FirstPauseMs - 1) && takes(between, FirstPauseMs))
    between.ended(completed = false)
    assert(!takes(between, 2 * FirstPauseMs - 1) && takes(between, 2 * FirstPauseMs))
    (0 until 20).foreach(_ => between.ended(completed = false))
    assert(!takes(between, LongestPauseMs - 1) && takes(between, LongestPauseMs))
    between.ended(completed = true)
    assert(takes(between, FirstPauseMs))
  }
}
