package io.snapline.spark.plugin

import java.util.UUID
import java.util.concurrent.{Executors, ScheduledExecutorService, TimeUnit}

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.spark.sql.streaming.StreamingQueryListener
import org.slf4j.LoggerFactory

import io.snapline.checkpoint._

/** Acts for one query's coordinator: events of Spark and of executors go in, files are written and deleted for what comes out.
  *
  * The coordinator is guarded by this object; what it asks for is done on one thread, in order, so that no caller waits for storage. Owns that thread and `folder`.
  */
final class CheckpointDriver private[plugin] (
    folder: CheckpointFolder,
    settings: CoordinatorSettings,
    logs: SparkLogs,
    closed: CheckpointDriver => Unit
) extends AutoCloseable {
  private val log = LoggerFactory.getLogger(classOf[CheckpointDriver])
  private val coordinator = new CheckpointCoordinator(settings)
  private val worker: ScheduledExecutorService = Executors.newSingleThreadScheduledExecutor { (task: Runnable) =>
    val thread = new Thread(task, "snapline-coordinator")
    thread.setDaemon(true)
    thread
  }
  private var run: Option[UUID] = None
  private var query = ""
  private var replaying = false
  private var restore: Option[String] = None
  private val plans = mutable.Map.empty[Long, Seq[PlannedOperator]]
  @volatile private var failure: Option[String] = None

  worker.scheduleWithFixedDelay(
    () => quietly("tick")(coordinator.tick(now)),
    CheckpointDriver.TickMs,
    CheckpointDriver.TickMs,
    TimeUnit.MILLISECONDS
  ): Unit

  // ---- before the start, from Python

  /** The runs that follow replay batches one by one: they are durable at once and take no checkpoints. */
  def replay(): Unit = synchronized(replaying = true)

  /** The runs that follow go on by themselves. */
  def goOn(): Unit = synchronized(replaying = false)

  /** State of the checkpoint's version is loaded as this checkpoint names it. */
  def restoreFrom(checkpoint: Long): Unit = synchronized(restore = Some(folder.metadataPath(checkpoint)))

  // ---- events of Spark

  private[plugin] def planned(batch: PlannedBatch): Barrier = synchronized {
    if (replaying) Barrier(batch.run, interval = false, None, restore)
    else {
      if (!run.contains(batch.run)) begin(batch.run)
      // Spark plans a batch when the one before it is in the commit log.
      enqueue(coordinator.batchCommitted(batch.batch - 1, now))
      val (checkpoint, actions) =
        coordinator.batchPlanned(batch.batch, batch.operators.flatMap(_.storeIds).toSet, now)
      checkpoint.foreach(plans.put(_, batch.operators))
      enqueue(actions)
      Barrier(batch.run, interval = settings.interval.isDefined, checkpoint, restore)
    }
  }

  private def begin(started: UUID): Unit = {
    run = Some(started)
    query = folder.queryId
    plans.clear()
    enqueue(coordinator.started(query, started.toString, folder.completed().map(_.checkpoint), now))
  }

  private[plugin] val listener: StreamingQueryListener = new StreamingQueryListener {
    override def onQueryStarted(event: StreamingQueryListener.QueryStartedEvent): Unit = ()

    override def onQueryProgress(event: StreamingQueryListener.QueryProgressEvent): Unit =
      if (isOurs(event.progress.runId)) quietly("progress")(coordinator.batchCommitted(event.progress.batchId, now))

    override def onQueryTerminated(event: StreamingQueryListener.QueryTerminatedEvent): Unit =
      if (isOurs(event.runId) && event.exception.isDefined) ended(JobStatus.Failed)
  }

  private def isOurs(other: UUID): Boolean = synchronized(!replaying && run.contains(other))

  private[plugin] def acknowledged(ack: Acknowledgement): Unit = quietly("ack")(coordinator.acknowledged(ack, now))

  private[plugin] def declined(decline: Decline): Unit = quietly("decline")(coordinator.declined(decline, now))

  // ---- acting

  private def now: Long = System.currentTimeMillis()

  /** Runs a transition and queues what it asks for. */
  private def quietly(event: String)(transition: => Seq[Action]): Unit =
    try synchronized(enqueue(transition))
    catch { case NonFatal(e) => log.error(s"The coordinator of ${folder.root} failed at $event.", e) }

  private def enqueue(actions: Seq[Action]): Unit =
    if (actions.nonEmpty && !worker.isShutdown) worker.execute(() => actions.foreach(act))

  private def act(action: Action): Unit =
    try action match {
        case Complete(pending) => complete(pending)
        case Delete(checkpoint, files) => delete(checkpoint, files)
        case Abort(id, reason) =>
          log.warn(s"Checkpoint $id of ${folder.root} was aborted: ${reason.text}")
          synchronized(plans.remove(id)): Unit
        case FailQuery(reason) =>
          failure = Some(reason)
          log.error(s"The query on ${folder.root} has to fail: $reason")
        case Purge(batch) => logs.purge(batch - 1)
      }
    catch { case NonFatal(e) => log.warn(s"$action of ${folder.root} failed.", e) }
}

object CheckpointDriver {
  private val TickMs = 100L
}
