package io.snapline.spark.coordinator

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.snapline.checkpoint._
import io.snapline.checkpoint.coordinator.{Action, CheckpointCoordinator}

/** Carries out what a query's coordinator asks for, and tells it and users how that went. The loop's lock guards its
  * variables.
  *
  * @param outcomes
  *   a lock that is held while a checkpoint is said to exist; taken before the loop's
  */
private[coordinator] final class CheckpointActions(
    location: String,
    loop: CoordinatorLoop,
    files: CheckpointFiles,
    between: BetweenBatches,
    board: RequestBoard,
    requests: CheckpointRequests,
    outcomes: Object,
    durableBatches: Boolean
) {
  private val log = LoggerFactory.getLogger(classOf[CheckpointDriver])
  private val sweeps = new SweepSchedule
  private var operators = Map.empty[Long, String]
  private var fatal: Option[String] = None

  /** Why the query has to fail at its next batch. */
  def failure: Option[String] = fatal

  /** @param highest
    *   number of the newest checkpoint of the runs before
    */
  def begun(highest: Long): Unit = {
    fatal = None
    sweeps.begun(highest, loop.nowMs)
  }

  /** @param names
    *   names of the operators, by number
    */
  def planned(names: Map[Long, String]): Unit = operators = names

  /** The caller holds the loop's lock; the result runs on its thread. */
  def prepare(actions: Seq[Action]): Runnable = {
    val reading = files.deletions.reading
    () => actions.foreach(act(_, reading))
  }

  private def act(action: Action, reading: Int): Unit =
    try action match {
        case Action.Complete(checkpoint) => complete(checkpoint)
        case Action.Abort(checkpoint, reason, message) =>
          log.warn(s"Checkpoint ${checkpoint.id} of $location was aborted: ${reason.text} $message")
          loop.synchronized {
            if (checkpoint.afterCommit) between.ended(completed = false)
            checkpoint.requests.foreach(board.failed(_, s"$reason: $message"))
          }
        case Action.Refuse(request, reason) => loop.synchronized(board.failed(request, s"$reason: ${reason.text}"))
        case delete: Action.Delete => files.delete(delete, reading)
        case Action.FailQuery(checkpoint, reason, message) =>
          log.error(s"Checkpoint $checkpoint of $location was one failure too many: ${reason.text} $message")
          loop.synchronized { fatal = Some(s"checkpoint $checkpoint: $reason: $message") }
        case Action.Purge(_) if durableBatches => purgeCuts()
        case Action.Purge(batch) => files.purge(batch)
      }
    catch { case NonFatal(e) => log.warn(s"The coordinator of $location could not do $action.", e) }

  /** Removes notes of cuts that no replay reaches, where batches are durable by themselves. On the loop's thread. */
  def purgeCuts(): Unit = loop.coordinator.foreach { coordinator =>
    def named: Seq[Long] = loop.synchronized {
      (coordinator.retained ++ coordinator.savepoints).map(_.batch) ++ coordinator.inProgress.map(_.batch)
    }
    files.purgeCuts(named.toSet)
  }

  private def complete(p: PendingCheckpoint): Unit = loop.coordinator.foreach { coordinator =>
    val names = loop.synchronized(operators)
    val written = files.complete(coordinator.query, p, names)
    outcomes.synchronized(loop.synchronized(concluded(p, written, coordinator)))
  }

  private def concluded(
      p: PendingCheckpoint,
      written: Either[String, Long],
      coordinator: CheckpointCoordinator
  ): Unit = {
    val follows = written match {
      case Right(bytes) =>
        log.info(s"Checkpoint ${p.id} of $location is complete: batch ${p.batch}, ${p.handles.size} stores.")
        if (p.afterCommit) between.ended(completed = true)
        board.completed(p.requests, p.id)
        coordinator.metadataWritten(p.id, bytes, loop.nowMs) ++ requests.discardUnneeded(coordinator)
      case Left(reason) => coordinator.writeFailed(p.id, reason, loop.nowMs)
    }
    loop.enqueue(follows)
    val retained = coordinator.retained
    if (written.isRight && !durableBatches && retained.nonEmpty && sweeps.isDue(retained.map(_.id).min, loop.nowMs)) {
      val named = retained ++ coordinator.savepoints
      val oldest = retained.map(_.batch + 1).min
      loop.submit(files.sweep(named, oldest, loop.isNamed))
    }
  }
}
