package io.snapline.checkpoint.coordinator

import io.snapline.checkpoint.StoreId

/** The end of a batch of this run.
  *
  * @param checkpoint
  *   triggered at it, or of it afterwards
  * @param committedMs
  *   when its batch was seen to be committed
  */
final case class Barrier(
    batch: Long,
    expected: Set[StoreId],
    checkpoint: Option[Long],
    committedMs: Option[Long] = None
)

/** The barriers of a run: the newest one, and how far its batches are committed. */
private[checkpoint] final class Barriers {
  private var last: Option[Barrier] = None
  private var commit = -1L

  def newest: Option[Barrier] = last

  /** The newest batch that is committed; below zero: none that was heard of. */
  def committed: Long = commit

  def restarted(): Unit = {
    last = None
    commit = -1
  }

  def planned(batch: Long, expected: Set[StoreId]): Barrier = {
    val barrier = Barrier(batch, expected, None)
    last = Some(barrier)
    barrier
  }

  /** A checkpoint of the newest one. */
  def triggered(checkpoint: Long): Unit = last = last.map(_.copy(checkpoint = Some(checkpoint)))

  /** Commits come in the order of batches: one stands for all before it. */
  def committed(batch: Long, nowMs: Long): Unit = {
    commit = math.max(commit, batch)
    last = last.map { barrier =>
      if (barrier.batch > batch || barrier.committedMs.isDefined) barrier else barrier.copy(committedMs = Some(nowMs))
    }
  }

  /** The newest batch, if its commit was not heard of. */
  def uncommitted: Option[Long] = last.filter(_.committedMs.isEmpty).map(_.batch)

  /** The newest barrier, if its batch is committed and no checkpoint was triggered of it. */
  def lagging: Option[Barrier] = last.filter(barrier => barrier.committedMs.isDefined && barrier.checkpoint.isEmpty)
}
