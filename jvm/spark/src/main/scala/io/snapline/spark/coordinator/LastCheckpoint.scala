package io.snapline.spark.coordinator

import java.util.concurrent.TimeUnit

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.snapline.spark.protocol.CheckpointFolder

/** Sees to the newest checkpoint of a query that ends. Waits, and holds no lock while it does. */
private[coordinator] final class LastCheckpoint(
    folder: CheckpointFolder,
    loop: CoordinatorLoop,
    between: BetweenBatches
) {
  private val log = LoggerFactory.getLogger(classOf[LastCheckpoint])
  @volatile private var hasFailed = false

  /** Takes a checkpoint of the last batch, if there is none, while the query's stores are still there. Does not wait
    * until it is complete.
    */
  def take(): Unit = within(LastCheckpoint.ReportsMs) {
    hearOfLastCommit()
    loop.synchronized(loop.coordinator.forall(c => c.lagging.isEmpty || between.take(c, last = true, loop.nowMs)))
  }

  /** Gives uploads that are under way a little time: a query that ran for a moment leaves the checkpoint of its last
    * barrier.
    */
  def finish(): Unit = {
    hearOfLastCommit()
    within(LastCheckpoint.UploadsMs)(loop.synchronized(loop.coordinator.forall(_.finishing.isEmpty)))
  }

  /** Spark's listeners hear of it some time after it. Storage that refuses the look is logged once: a query that has
    * ended well has not failed for it.
    */
  private def hearOfLastCommit(): Unit =
    try {
      loop.synchronized(loop.coordinator.flatMap(_.uncommitted)).filter(folder.isCommitted).foreach { batch =>
        loop.event("the last commit")(_.batchCommitted(batch, loop.nowMs))
      }
    } catch {
      case NonFatal(e) =>
        if (!hasFailed) log.warn(s"The last commit of ${folder.location} could not be looked for.", e)
        hasFailed = true
    }

  private def within(millis: Long)(isDone: => Boolean): Unit = {
    val deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis)
    while (!isDone && System.nanoTime() < deadline) Thread.sleep(20)
  }
}

private object LastCheckpoint {
  val UploadsMs = 10000L
  val ReportsMs = 3000L
}
