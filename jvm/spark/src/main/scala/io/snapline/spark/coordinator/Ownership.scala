package io.snapline.spark.coordinator

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
