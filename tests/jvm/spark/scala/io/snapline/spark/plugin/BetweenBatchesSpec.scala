package io.snapline.spark.plugin

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.checkpoint._
import io.snapline.snapshot.VersionRef

class BetweenBatchesSpec extends AnyFunSuite {
  private val left = StoreId(0, 0, "default")
  private val right = StoreId(0, 1, "default")
  private val both = Set(left, right)
  private val barrier = Barrier(6, both, None, Some(10))
  private val waiting =
    PendingCheckpoint(3, "r", 6, CheckpointProperties.RetainedOnCancellation, both, 20, afterCommit = true)

  /** Version 7 of both stores, on two executors that were heard of at 10. */
  private def known(): BetweenBatches = {
    val between = new BetweenBatches
    Seq("one" -> left, "two" -> right).foreach { case (executor, store) =>
      between.heardOf(executor, 10)
      between.held(executor, store, VersionRef(7, s"by $executor"))
    }
    assert(between.canTake(barrier, 20))
    between
  }

  test("each store has to have one holder of the barrier's version, and it has to live") {
    assert(!new BetweenBatches().canTake(barrier, 20))
    assert(!known().canTake(barrier, 10011), "silent")
    assert(!known().canTake(barrier.copy(batch = 7), 20), "an older version")
    assert(!known().canTake(barrier.copy(expected = both + StoreId(1, 0, "default")), 20), "a store nobody holds")
  }

  test("two attempts that came to a good end: nobody knows which of them counts") {
    val between = known()
    between.held("two", left, VersionRef(7, "by two"))
    assert(!between.canTake(barrier, 20))
    // A message that comes twice says nothing new.
    val again = known()
    again.held("one", left, VersionRef(7, "by one"))
    assert(again.canTake(barrier, 20))
  }

  test("a newer version takes the place of all that was known, a late word of an older one changes nothing") {
    val between = known()
    between.held("one", left, VersionRef(6, "late"))
    assert(between.canTake(barrier, 20))
    between.held("one", left, VersionRef(8, "new"))
    assert(!between.canTake(barrier, 20) && !between.canTake(barrier.copy(batch = 7), 20))
    between.held("one", right, VersionRef(8, "new too"))
    assert(between.canTake(barrier.copy(batch = 7), 20))
    between.begun()
    assert(!between.canTake(barrier.copy(batch = 7), 20))
  }

  test("an executor is told what it holds until that is acknowledged, and nobody else is") {
    val between = known()
    assert(between.orders("one", "q", Seq(waiting)).isEmpty)
    between.take(waiting)
    val order = HolderOrder.Take("q", "r", left, VersionRef(7, "by one"), 3)
    assert(between.orders("one", "q", Seq(waiting)) == Seq(order))
    assert(between.orders("three", "q", Seq(waiting)).isEmpty)
    val handle = StateHandle(VersionRef(7, "by one"), Nil, 0, 0, 0, 1, 2, 10)
    assert(between.orders("one", "q", Seq(waiting.copy(acked = Map(left -> Acked(handle, 30))))).isEmpty)
    assert(between.orders("one", "q", Nil).isEmpty, "given up")
  }

  test("whoever is not heard of any more is named, unless he has answered") {
    val between = known()
    between.take(waiting)
    assert(between.gone(Seq(waiting), 30).isEmpty)
    between.heardOf("one", 10000)
    assert(between.gone(Seq(waiting), 10011).map(g => (g._2, g._3)).contains((right, "two")))
    val handle = StateHandle(VersionRef(7, "by two"), Nil, 0, 0, 0, 1, 2, 10)
    assert(between.gone(Seq(waiting.copy(acked = Map(right -> Acked(handle, 30)))), 10011).isEmpty)
  }

  test("whoever came in a batch's way waits for longer, until one comes to its end") {
    val between = new BetweenBatches
    assert(between.pauseMs == BetweenBatches.FirstPauseMs)
    between.ended(completed = false)
    assert(between.pauseMs == 2 * BetweenBatches.FirstPauseMs)
    (0 until 20).foreach(_ => between.ended(completed = false))
    assert(between.pauseMs == BetweenBatches.LongestPauseMs)
    between.ended(completed = true)
    assert(between.pauseMs == BetweenBatches.FirstPauseMs)
  }
}
