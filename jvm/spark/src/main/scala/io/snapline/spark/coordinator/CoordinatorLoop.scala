package io.snapline.spark.coordinator

import java.util.concurrent.{Executors, RejectedExecutionException, ScheduledExecutorService, TimeUnit}

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.snapline.checkpoint.coordinator.{Action, CheckpointCoordinator}
import io.snapline.checkpoint.NamedFile

/** One query's coordinator, and the lock that guards it: this object. Actions are carried out on one thread, in the
  * order of the events.
  *
  * Spark's one thread for the messages of all queries takes the lock, so no holder of it may use storage. Owns the
  * thread, which `end` ends.
  *
  * @param location
  *   path of the checkpoint folder, for the log
  * @param prepare
  *   gets the actions under the lock; its result runs on the thread
  */
private[coordinator] final class CoordinatorLoop(location: String, prepare: Seq[Action] => Runnable) {
  private val log = LoggerFactory.getLogger(classOf[CheckpointDriver])
  private val clock = new SteadyClock
  private var begun: Option[CheckpointCoordinator] = None
  private val executor: ScheduledExecutorService = Executors.newSingleThreadScheduledExecutor { (task: Runnable) =>
    val thread = new Thread(task, "snapline-coordinator")
    thread.setDaemon(true)
    thread
  }

  def nowMs: Long = clock.nowMs

  /** None until the first batch is planned. */
  def coordinator: Option[CheckpointCoordinator] = synchronized(begun)

  /** Sets it once. */
  def begin(coordinator: CheckpointCoordinator): Unit = synchronized { begun = Some(coordinator) }

  def isNamed(file: NamedFile): Boolean = synchronized(begun.exists(_.isNamed(file)))

  /** A failure is logged: the next event follows. */
  def event(what: String)(transition: CheckpointCoordinator => Seq[Action]): Unit =
    try synchronized(begun.foreach(coordinator => enqueue(transition(coordinator))))
    catch { case NonFatal(e) => log.error(s"The coordinator of $location failed at $what.", e) }

  /** The caller holds the lock, so that actions keep the order of the events. */
  def enqueue(actions: Seq[Action]): Unit = if (actions.nonEmpty) {
    val work = prepare(actions)
    submit(work.run())
  }

  /** Does nothing when the thread has ended. A failure is logged, and the next work follows. */
  def submit(work: => Unit): Unit = execute(() => safely(work))

  private def execute(work: Runnable): Unit =
    try executor.execute(work)
    catch { case _: RejectedExecutionException => () } // it has ended, maybe this moment

  /** Again and again, `pauseMs` after the end of the last time. */
  def every(pauseMs: Long)(work: => Unit): Unit =
    executor.scheduleWithFixedDelay(() => safely(work), pauseMs, pauseMs, TimeUnit.MILLISECONDS): Unit

  private def safely(work: => Unit): Unit =
    try work
    catch { case NonFatal(e) => log.warn(s"The coordinator of $location failed.", e) }

  /** Whether what is asked for is still carried out. */
  def isOpen: Boolean = !executor.isShutdown

  /** Ends the thread behind all queued work and what follows from it; waits at most `waitMs`. May be called again.
    *
    * @return
    *   whether it has ended
    */
  def end(waitMs: Long): Boolean = {
    execute(() => executor.shutdown())
    executor.awaitTermination(waitMs, TimeUnit.MILLISECONDS)
  }
}

/** Milliseconds since 1970 that run on when the machine's clock is set: the time at which this was made, and the time
  * since. Intervals, pauses and timeouts of a coordinator are measured with it. The machine's clock, set back by an
  * hour, would stop checkpoints for an hour. Set forward, it would make every executor look silent. Any thread.
  */
private[spark] final class SteadyClock(
    wallMs: () => Long = () => System.currentTimeMillis(),
    counterNs: () => Long = () => System.nanoTime()
) {
  private val begunMs = wallMs()
  private val begunNs = counterNs()

  def nowMs: Long = begunMs + TimeUnit.NANOSECONDS.toMillis(counterNs() - begunNs)
}
