package io.snapline.spark.coordinator

import io.snapline.checkpoint.CheckpointProperties
import io.snapline.checkpoint.coordinator.{Action, CheckpointCoordinator}

/** The requests of users for checkpoints of one query. Any thread.
  *
  * @param outcomes
  *   a lock that is held while a checkpoint is said to exist, or no longer to; taken before the loop's
  * @param board
  *   guarded by the loop's lock
  * @param inMemory
  *   state is in the driver's memory: no checkpoint could name it
  * @param properties
  *   the kind of a checkpoint that is no savepoint
  * @param base
  *   the checkpoint that the stores of this run, or of the next one, begin with
  */
private[coordinator] final class CheckpointRequests(
    loop: CoordinatorLoop,
    outcomes: Object,
    board: RequestBoard,
    inMemory: Boolean,
    properties: CheckpointProperties,
    base: => Option[Long]
) {

  /** Asks for a checkpoint at the next barrier.
    *
    * @param savepoint
    *   it stays until somebody disposes of it
    * @return
    *   a number to ask `outcome` with
    */
  def trigger(savepoint: Boolean): Long =
    request(if (savepoint) CheckpointProperties.Savepoint else properties)(_ => ())

  /** As `trigger`, a savepoint that stays until `giveBack`.
    *
    * @param inFlight
    *   rows may wait in it, as they may in a checkpoint
    */
  def lend(inFlight: Boolean): Long = request(CheckpointProperties.Savepoint) { request =>
    board.borrows(request)
    if (inFlight) board.mayKeepRows(request)
  }

  /** @param accepted gets the number of a request that is not refused at once */
  private def request(properties: CheckpointProperties)(accepted: Long => Unit): Long = loop.synchronized {
    loop.coordinator match {
      case _ if inMemory =>
        board.refused("state is kept in the driver's memory, and a checkpoint is to outlive it")
      case None =>
        board.refused(
          "the query has planned no batch with a stateful operator yet; one without such operators has no checkpoints"
        )
      case Some(coordinator) =>
        val (request, actions) = coordinator.requested(properties)
        accepted(request)
        loop.enqueue(actions)
        request
    }
  }

  /** Who asked for a savepoint with `lend` has what they need of it, or waits no longer. */
  def giveBack(request: Long): Unit = outcomes.synchronized {
    loop.synchronized {
      board.givenBack(request)
      loop.coordinator.foreach(coordinator => loop.enqueue(discardUnneeded(coordinator)))
    }
  }

  /** Between two runs none of them goes: a recovery may choose it. The caller holds both locks. */
  def discardUnneeded(coordinator: CheckpointCoordinator): Seq[Action] =
    if (coordinator.isRunning) board.free.filterNot(loaded(coordinator).contains).flatMap(coordinator.disposed)
    else Nil

  /** No run follows. The caller holds both locks. */
  def discardAllUnneeded(coordinator: CheckpointCoordinator): Seq[Action] = board.free.flatMap(coordinator.disposed)

  /** The checkpoint that stores of this run may still begin with: until a newer one is complete, to which a restart
    * goes back.
    */
  private def loaded(coordinator: CheckpointCoordinator): Option[Long] =
    base.filterNot(id => coordinator.retained.exists(_.id > id))

  /** Removes a completed checkpoint, unless a restart takes it; false: the coordinator knows of none of this number
    * that may go.
    */
  def dispose(checkpoint: Long): Boolean = outcomes.synchronized {
    loop.synchronized {
      val mayGo = loop.coordinator.filter { c =>
        c.isRunning && loop.isOpen && !loaded(c).contains(checkpoint) &&
        (c.retained.dropRight(1) ++ c.savepoints).exists(_.id == checkpoint)
      }
      mayGo.foreach(coordinator => loop.enqueue(coordinator.disposed(checkpoint)))
      mayGo.isDefined
    }
  }

  /** The outcome of a request: empty while it waits, `completed <number>`, or `failed <reason>`. */
  def outcome(request: Long): String = loop.synchronized(board.outcome(request))
}
