package io.snapline.checkpoint.coordinator

import scala.collection.mutable

import io.snapline.checkpoint.{CheckpointProperties, FailureReason}

/** Decides when failed checkpoints fail the query, as Flink does: so many in a row, each counted once, none that is
  * older than the last success.
  */
private[checkpoint] final class FailureCounter(tolerable: Int) {
  private val counted = mutable.HashSet.empty[Long]
  private var lastSuccess = 0L

  /** Whether the query has to fail.
    *
    * @param inStore
    *   the failure is a store's, not the coordinator's: a restart may mend it
    */
  def failed(id: Long, properties: CheckpointProperties, reason: FailureReason, inStore: Boolean): Boolean =
    if (properties.isSavepoint && !inStore) false // whoever asked for it is told, and asks again
    else if (properties.isSavepoint && properties.isSynchronous) true // the query stands still behind it
    else if (!reason.counts || id <= lastSuccess) false
    else {
      counted += id
      val exceeded = counted.size > tolerable
      if (exceeded) counted.clear()
      exceeded
    }

  def succeeded(id: Long): Unit = if (id > lastSuccess) {
    lastSuccess = id
    counted.clear()
  }

  /** A new run begins with a clean slate. */
  def reset(): Unit = counted.clear()
}
