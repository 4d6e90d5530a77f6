package io.snapline.spark.coordinator

import scala.collection.mutable

/** The outcomes of user-triggered checkpoints. Guarded by its owner. */
private[spark] final class RequestBoard {
  private val outcomes = mutable.LinkedHashMap.empty[Long, String]
  private val keepRows = mutable.Set.empty[Long]
  private var lastRefused = 0L

  def completed(request: Long, checkpoint: Long): Unit = put(request, s"completed $checkpoint")

  def failed(request: Long, reason: String): Unit = put(request, s"failed $reason")

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
    if (outcomes.size > RequestBoard.Kept) outcomes.remove(outcomes.head._1): Unit
  }
}

private object RequestBoard {
  private val Kept = 1000
}
