package io.snapline.spark.coordinator

import java.util.concurrent.{Executors, RejectedExecutionException, ScheduledExecutorService, TimeUnit}

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

/** The thread that does what a query's coordinator asks for, in order. What fails is logged, and the next follows. */
private[spark] final class CoordinatorThread(where: String) {
  private val log = LoggerFactory.getLogger(classOf[CoordinatorThread])
  private val executor: ScheduledExecutorService = Executors.newSingleThreadScheduledExecutor { (task: Runnable) =>
    val thread = new Thread(task, "snapline-coordinator")
    thread.setDaemon(true)
    thread
  }

  /** Nothing, when it has ended. */
  def submit(work: => Unit): Unit = execute(() => safely(work))

  private def execute(work: Runnable): Unit =
    try executor.execute(work)
    catch { case _: RejectedExecutionException => () } // it has ended, maybe this moment

  /** Again and again, with so long a pause. */
  def every(pauseMs: Long)(work: => Unit): Unit =
    executor.scheduleWithFixedDelay(() => safely(work), pauseMs, pauseMs, TimeUnit.MILLISECONDS): Unit

  private def safely(work: => Unit): Unit =
    try work
    catch { case NonFatal(e) => log.warn(s"The coordinator of $where failed.", e) }

  /** Ends behind what is queued, whose own consequences are then still taken; waits for it so long at most. May be
    * called again.
    */
  def end(waitMs: Long): Unit = {
    execute(() => executor.shutdown())
    executor.awaitTermination(waitMs, TimeUnit.MILLISECONDS): Unit
  }
}
