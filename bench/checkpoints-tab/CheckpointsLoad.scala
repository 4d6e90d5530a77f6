package io.snapline.spark.ui

import java.util.UUID

import org.apache.spark.SparkContext

import io.snapline.checkpoint._
import io.snapline.snapshot.{UidClock, VersionRef}

/** Plays the checkpoints of a query with many partitions, as its coordinator sees them, to the tab of an application. */
object CheckpointsLoad {

  /** @return
    *   id of the start; milliseconds that the coordinator's thread took for a checkpoint
    */
  def play(context: SparkContext, checkpoints: Int, partitions: Int): Array[String] = {
    val ui = CheckpointsUi.open(context)
    val settings = CoordinatorSettings(Some(10000L), tolerableFailures = Int.MaxValue, retained = 2)
    val reporter = ui.observer("file:/load", settings, durableBatches = false, _ => Some("load"))
    reporter.started()
    reporter.planned(Map(0L -> "stateStoreSave"))
    val coordinator = new CheckpointCoordinator("load", settings)
    coordinator.history.listen(reporter)
    coordinator.started("run", Nil, 0, None, 0)
    reporter.begun("load", UUID.randomUUID())
    val load = new CheckpointsLoad(coordinator, partitions)
    val store = new CheckpointsStore(org.apache.spark.ui.snapline.UiInternals.store(context))
    var busy = 0L
    (1 to checkpoints).foreach { i =>
      val begun = System.nanoTime()
      load.checkpoint(i.toLong)
      busy += System.nanoTime() - begun
      // As in life, where checkpoints are seconds apart: the queues are empty in between.
      while (!store.queries.headOption.exists(q => q.completed + q.failed == i)) Thread.sleep(1)
    }
    Array(store.queries.head.start, (busy / 1e6 / checkpoints).toString)
  }

  /** The same without a tab. */
  def alone(checkpoints: Int, partitions: Int): Double = {
    val coordinator = new CheckpointCoordinator("load", CoordinatorSettings(Some(10000L), tolerableFailures = Int.MaxValue, retained = 2))
    coordinator.started("run", Nil, 0, None, 0)
    val load = new CheckpointsLoad(coordinator, partitions)
    val begun = System.nanoTime()
    (1 to checkpoints).foreach(i => load.checkpoint(i.toLong))
    (System.nanoTime() - begun) / 1e6 / checkpoints
  }

  /** Bytes in use behind two collections. */
  def heap(): Long = {
    System.gc()
    System.gc()
    Runtime.getRuntime.totalMemory - Runtime.getRuntime.freeMemory
  }
}

private final class CheckpointsLoad(coordinator: CheckpointCoordinator, partitions: Int) {
  private val clock = new UidClock
  private val stores = (0 until partitions).map(StoreId(0, _, "default"))
  private val expected = stores.toSet
  private val random = new java.util.Random(7)

  /** Ten seconds after the one before; one in fifty fails, with a store missing. */
  def checkpoint(batch: Long): Unit = {
    val at = 1700000000000L + batch * 10000
    val id = coordinator.batchPlanned(batch, expected, at).get
    val isFailed = batch % 50 == 0
    stores.drop(if (isFailed) 1 else 0).foreach { store =>
      val took = 200L + random.nextInt(900)
      val handle = StateHandle(VersionRef(batch + 1, clock.next()), Nil, 1000000L + random.nextInt(9999), 1, 10000L + random.nextInt(999), 2, took / 2, 500)
      coordinator.acknowledged(Acknowledgement("load", "run", id, store, handle), at + took)
    }
    if (isFailed) coordinator.declined(Decline("load", "run", id, stores.head, FailureReason.AsyncFailure, "No space left on device"), at + 1200)
    else {
      coordinator.batchCommitted(batch, at + 1200)
      coordinator.metadataWritten(id, 100000, at + 1300)
    }
    ()
  }
}
