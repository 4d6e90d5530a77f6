package io.snapline.checkpoint.coordinator

import scala.collection.immutable.TreeMap

import io.snapline.checkpoint.{Acknowledgement, Ending, PendingCheckpoint, StoreId}

/** The checkpoints of a query that are in progress, in the order of their numbers. */
private[checkpoint] final class PendingCheckpoints {
  private var all = TreeMap.empty[Long, PendingCheckpoint]

  def size: Int = all.size

  def ids: Set[Long] = all.keySet

  def get(id: Long): Option[PendingCheckpoint] = all.get(id)

  def toSeq: Seq[PendingCheckpoint] = all.values.toSeq

  /** In the place of what had the number. */
  def put(checkpoint: PendingCheckpoint): PendingCheckpoint = {
    all += checkpoint.id -> checkpoint
    checkpoint
  }

  def remove(id: Long): Unit = all -= id

  /** Those whose metadata is being written: only the outcome of that decides about them. */
  def completing: Seq[PendingCheckpoint] = toSeq.filter(_.completing)

  /** The newest that a store may answer at a later barrier than its own. */
  def owed: Option[Long] = all.values.filter(_.isOwed).map(_.id).maxOption

  /** Those whom this answers: the one it is for, and older ones that a store may answer late. */
  def awaiting(ack: Acknowledgement): Seq[PendingCheckpoint] =
    all.values.filter(p => p.id <= ack.checkpoint && p.awaits(ack)).toSeq

  /** The checkpoints for which stores may be about to name the same merged file, also by a handle that is meant for a
    * later one.
    */
  def mayShareMerged(checkpoint: Long): Seq[PendingCheckpoint] =
    all.values.filter(p => p.id == checkpoint || p.id < checkpoint && p.isOwed).toSeq

  /** The oldest that this store has not acknowledged. */
  def oldestWithout(store: StoreId): Option[Long] =
    all.values.find(p => p.expected(store) && !p.acked.contains(store)).map(_.id)

  /** Has the metadata written, if all that it takes is there.
    *
    * @param committed
    *   the newest batch that is committed
    */
  def completeIfReady(p: PendingCheckpoint, committed: Long): Seq[Action] =
    if (p.isReady(committed)) Seq(Action.Complete(put(p.copy(completing = true)))) else Nil
}

/** The run of the query that messages have to be of, and the numbers that its checkpoints get. */
private[checkpoint] final class CurrentRun {
  private var run: Option[String] = None
  private var over: Option[Ending] = None
  private var isInterrupted = false
  private var last = 0L

  /** None: nothing is known of the folder yet. */
  def id: Option[String] = run

  /** How it ended, if it has. */
  def ending: Option[Ending] = over

  def isRunning: Boolean = hasNotEnded && !isInterrupted

  /** The query may be between two runs. */
  def hasNotEnded: Boolean = run.isDefined && over.isEmpty

  /** The greatest number that a checkpoint ever had. */
  def lastCheckpoint: Long = last

  def nextCheckpoint(): Long = {
    last += 1
    last
  }

  /** @param numbers
    *   numbers of the checkpoints that exist
    */
  def begins(id: String, numbers: Iterable[Long]): Unit = {
    run = Some(id)
    over = None
    isInterrupted = false
    last = (Seq(last) ++ numbers).max
  }

  def ends(how: Ending): Unit = over = Some(how)

  /** Another one follows. */
  def interrupted(): Unit = isInterrupted = true
}
