package io.snapline.spark.ui

import java.util.concurrent.{Executors, TimeUnit}

import scala.util.Random

import org.apache.spark.SparkContext
import org.apache.spark.ui.snapline.UiInternals

import io.snapline.checkpoint._
import io.snapline.checkpoint.coordinator.CheckpointCoordinator
import io.snapline.checkpoint.history.{CheckpointStatus, Summary}
import io.snapline.snapshot.format.{UidClock, VersionRef}

/** Plays the checkpoints of a query with many partitions to the tab of an application, and to a coordinator with and
  * without it.
  */
object CheckpointsLoad {
  private val Start = "load"
  private val random = new Random(7)

  /** Posts what a reporter would: each checkpoint is triggered, and then ends with the figures of its partitions.
    *
    * @return
    *   id of the start
    */
  def play(context: SparkContext, checkpoints: Int, partitions: Int): String = {
    CheckpointsUi.open(context)
    val store = new CheckpointsStore(UiInternals.store(context))
    val config = ConfigRecord(10000, 600000, 0, 1, 0, 2, "RETAIN_ON_CANCELLATION", durableBatches = false)
    UiInternals.post(context, CheckpointingStarted(Start, 1700000000000L, "file:/load", config))
    UiInternals.post(context, CheckpointingRunBegun(Start, 1700000000000L, "query", "run", Some("load")))
    var totals = Totals(0, 0, 0, 0, Summary(), Summary(), Summary())
    (1 to checkpoints).foreach { id =>
      totals = totals.copy(total = id.toLong)
      UiInternals.post(
        context,
        CheckpointChanged(Start, checkpoint(id.toLong, partitions, CheckpointStatus.InProgress), totals, Nil)
      )
      val ended =
        checkpoint(id.toLong, partitions, if (id % 50 == 0) CheckpointStatus.Failed else CheckpointStatus.Completed)
      totals =
        if (ended.failed.isDefined) totals.copy(failed = totals.failed + 1)
        else totals.copy(completed = totals.completed + 1, duration = totals.duration.add(ended.duration))
      UiInternals.post(context, CheckpointChanged(Start, ended, totals, Seq(columns(partitions))))
      // As in life, where checkpoints are seconds apart: the queue is never full.
      if (id % 200 == 0 || id == checkpoints) {
        while (!store.query(Start).exists(q => q.completed + q.failed == id)) Thread.sleep(1)
      }
    }
    Start
  }

  private def checkpoint(id: Long, partitions: Int, status: CheckpointStatus): CheckpointRecord = {
    val triggered = 1700000000000L + id * 10000
    val over = status != CheckpointStatus.InProgress
    val isFailed = status == CheckpointStatus.Failed
    val (took, acked) = (500L + random.nextInt(900), if (over) partitions else 0)
    val (added, whole) = (20000000L + random.nextInt(9999999), 2000000000L + id * 1000)
    CheckpointRecord(
      CheckpointRecord.key(Start, id),
      Start,
      id,
      status.name,
      "CHECKPOINT_RETAINED_ON_CANCELLATION",
      savepoint = false,
      id,
      triggered,
      if (over) triggered + took else -1,
      if (over) triggered + took + 50 else -1,
      added,
      whole,
      0,
      partitions,
      acked,
      discarded = false,
      if (isFailed) Some("CHECKPOINT_ASYNC_EXCEPTION") else None,
      if (isFailed) Some("0/17/default: No space left on device") else None,
      Seq(OperatorRecord(0, "stateStoreSave", partitions, acked, if (over) triggered + took else -1, added, whole, 0))
    )
  }

  private def columns(partitions: Int): OperatorPartitions = {
    def column(least: Int, more: Int): Array[Long] = Array.fill(partitions)(least.toLong + random.nextInt(more))
    OperatorPartitions(
      0,
      partitions,
      Seq("default"),
      Array.range(0, partitions),
      new Array[Int](partitions),
      column(500, 900),
      column(10000, 999),
      column(1000000, 9999),
      column(1, 9),
      column(100, 400),
      new Array[Long](partitions)
    )
  }

  /** Milliseconds that a coordinator takes for a checkpoint and its acknowledgements.
    *
    * @param told
    *   whether it has a reporter, as under the tab
    */
  def coordinator(checkpoints: Int, partitions: Int, told: Boolean): Double = {
    val settings = CoordinatorSettings(Some(10000L), retained = 2)
    val c = new CheckpointCoordinator("load", settings)
    val worker = Executors.newSingleThreadScheduledExecutor()
    val start = CheckpointReporter.Start(Start, "file:/load", ConfigRecord.of(settings, durableBatches = false))
    if (told) c.history.listen(new CheckpointReporter(start, worker, _ => (), _ => None))
    c.started("run", Nil, 0, None, 0)
    val clock = new UidClock
    val stores = (0 until partitions).map(StoreId(0, _, "default"))
    val expected = stores.toSet
    val begun = System.nanoTime()
    (1L to checkpoints.toLong).foreach { batch =>
      val at = batch * 10000
      val id = c.batchPlanned(batch, expected, at).get
      stores.foreach { store =>
        val handle = StateHandle(VersionRef(batch + 1, clock.next()), Nil, 1000000, 1, 10000, 2, 300, 500)
        c.acknowledged(Acknowledgement("load", "run", id, store, handle), at + 900)
      }
      c.batchCommitted(batch, at + 1200)
      c.metadataWritten(id, 100000, at + 1300)
    }
    val took = (System.nanoTime() - begun) / 1e6 / checkpoints
    worker.shutdown()
    worker.awaitTermination(10, TimeUnit.MINUTES)
    took
  }

  /** Bytes in use behind two collections. */
  def heap(): Long = {
    System.gc()
    System.gc()
    Runtime.getRuntime.totalMemory - Runtime.getRuntime.freeMemory
  }
}
