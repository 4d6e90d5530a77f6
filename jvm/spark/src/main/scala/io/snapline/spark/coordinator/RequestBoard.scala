package io.snapline.spark.coordinator

import scala.collection.mutable

/** The outcomes of user-triggered checkpoints, and who needs those that were lent. Guarded by its owner. */
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

  /** Requests may share a checkpoint. Whether nobody needs it: all of them have given it back. */
  def completed(asked: Seq[Long], checkpoint: Long): Boolean = {
    val isLent = asked.nonEmpty && asked.forall(borrowing)
    val needing = asked.filterNot(tooLate).toSet
    if (isLent && needing.nonEmpty) lentTo.put(checkpoint, needing)
    asked.foreach(put(_, s"completed $checkpoint"))
    isLent && needing.isEmpty
  }

  def failed(request: Long, reason: String): Unit = put(request, s"failed $reason")

  /** The requester copies what the checkpoint names, and gives it back. */
  def borrows(request: Long): Unit = borrowing += request

  /** The requester needs it no more, or waits no longer. The checkpoint that nobody needs now, if there is one. */
  def givenBack(request: Long): Option[Long] = {
    if (borrowing(request)) tooLate += request
    val lent =
      lentTo.collectFirst { case (checkpoint, requests) if requests(request) => checkpoint -> (requests - request) }
    lent.foreach { case (checkpoint, left) => lentTo.put(checkpoint, left) }
    val free = lent.collect { case (checkpoint, left) if left.isEmpty => checkpoint }
    lentTo --= free
    free
  }

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
