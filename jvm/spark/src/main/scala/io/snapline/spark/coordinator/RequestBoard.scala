package io.snapline.spark.coordinator

import scala.collection.mutable

/** The outcomes of user-triggered checkpoints, and who needs those that were lent. The loop's lock guards it. */
private[spark] final class RequestBoard {
  private val outcomes = mutable.LinkedHashMap.empty[Long, String]
  private val keepRows = mutable.Set.empty[Long]
  private var lastRefused = 0L

  /** Requests of those who keep no checkpoint, and wait for one. */
  private val borrowing = mutable.Set.empty[Long]

  /** Those of them that gave it back before they had it. */
  private val tooLate = mutable.Set.empty[Long]

  /** By number of a checkpoint, the requests it is lent to. */
  private val lentTo = mutable.Map.empty[Long, Set[Long]]

  /** Checkpoints that were lent and that nobody needs, as long as a deletion may not have come through. */
  private val unneeded = mutable.SortedSet.empty[Long]

  /** Requests may share a checkpoint. Nobody needs it if all of them have given it back. */
  def completed(asked: Seq[Long], checkpoint: Long): Unit = {
    if (asked.nonEmpty && asked.forall(borrowing)) {
      val needing = asked.filterNot(tooLate).toSet
      if (needing.nonEmpty) lentTo.put(checkpoint, needing) else unneeded += checkpoint
    }
    asked.foreach(put(_, s"completed $checkpoint"))
  }

  def failed(request: Long, reason: String): Unit = put(request, s"failed $reason")

  /** The requester copies what the checkpoint names, and gives it back. */
  def borrows(request: Long): Unit = borrowing += request

  /** The requester needs it no more, or waits no longer. */
  def givenBack(request: Long): Unit = {
    if (borrowing(request)) tooLate += request
    lentTo.collectFirst { case (checkpoint, needing) if needing(request) => checkpoint -> (needing - request) }
      .foreach {
        case (checkpoint, left) if left.nonEmpty => lentTo.put(checkpoint, left): Unit
        case (checkpoint, _) =>
          lentTo -= checkpoint
          unneeded += checkpoint
      }
  }

  /** Those to delete. They stay among these until a reading of the folder does not find them. */
  def free: Seq[Long] = unneeded.toSeq

  /** The folder was read: its checkpoints are those. */
  def found(checkpoints: Set[Long]): Unit = unneeded.filterInPlace(checkpoints): Unit

  /** A request that the coordinator never saw; its number is below zero. */
  def refused(reason: String): Long = {
    lastRefused -= 1
    failed(lastRefused, reason)
    lastRefused
  }

  /** The requester of a savepoint takes it with in-flight data. */
  def mayKeepRows(request: Long): Unit = keepRows += request

  def keepsRows(request: Long): Boolean = keepRows(request)

  /** Empty while it waits. */
  def outcome(request: Long): String = outcomes.getOrElse(request, "")

  private def put(request: Long, outcome: String): Unit = {
    outcomes.put(request, outcome)
    keepRows -= request
    borrowing -= request
    tooLate -= request
    if (outcomes.size > RequestBoard.Kept) outcomes.remove(outcomes.head._1): Unit
  }
}

private object RequestBoard {
  private val Kept = 1000
}
