package io.snapline.spark.coordinator

import java.util.concurrent.TimeUnit
import java.util.UUID

import org.slf4j.LoggerFactory

import io.snapline.error.QueryTakenOver

/** Stops a query whose checkpoint folder another driver has taken over. */
private[coordinator] final class Ownership(claim: DriverClaim, query: DrivenQuery) {
  private val log = LoggerFactory.getLogger(classOf[Ownership])

  /** A batch under way would write its output, and its entry of the commit log, behind the other driver's back. */
  def stopIfLost(run: => Option[UUID]): Unit =
    try claim.check()
    catch {
      case e: QueryTakenOver =>
        log.error(e.getMessage)
        // It waits for the batch's tasks to end.
        val thread = new Thread((() => run.foreach(query.stop)): Runnable, "snapline-stop")
        thread.setDaemon(true)
        thread.start()
    }
}

/** When a driver has to look whether its checkpoint folder is still its own, besides before each batch and each change:
  * once a second while a batch runs, and at once when it was paused itself. One thread.
  */
private[spark] final class BatchWatch {
  import BatchWatch._
  private var lastCall: Option[Long] = None
  private var lastLook: Option[Long] = None

  /** Called more often than once a second.
    *
    * @param nowNs
    *   nanoseconds of a monotonic clock
    */
  def isDue(batchRuns: Boolean, nowNs: Long): Boolean = {
    val paused = lastCall.exists(nowNs - _ > EveryNs)
    lastCall = Some(nowNs)
    val due = paused || (batchRuns && lastLook.forall(nowNs - _ >= EveryNs))
    if (due || !batchRuns) lastLook = Some(nowNs)
    due
  }
}

private object BatchWatch {
  private val EveryNs = TimeUnit.SECONDS.toNanos(1)
}

/** The query under a driver, as Spark runs it. */
private[coordinator] trait DrivenQuery {

  /** Ends a run wherever it is, and waits for that. */
  def stop(run: UUID): Unit

  /** The driver is closed, maybe not for the first time. */
  def closed(driver: CheckpointDriver): Unit
}
