package io.snapline.checkpoint.coordinator

import scala.collection.immutable.TreeMap

import io.snapline.checkpoint.{CompletedCheckpoint, Ending}

/** The checkpoints of a query that exist. */
private[checkpoint] final class CompletedCheckpoints {
  private var all = TreeMap.empty[Long, CompletedCheckpoint]
  private var purgedBelow = 0L

  def get(id: Long): Option[CompletedCheckpoint] = all.get(id)

  def ids: Set[Long] = all.keySet

  /** Those the system answers for, the oldest first. */
  def retained: Seq[CompletedCheckpoint] = all.values.filterNot(_.properties.isSavepoint).toSeq

  def savepoints: Seq[CompletedCheckpoint] = all.values.filter(_.properties.isSavepoint).toSeq

  /** The checkpoints that an end of the query discards. */
  def discardedWhen(how: Ending): Seq[CompletedCheckpoint] =
    all.values.filter(_.properties.discardedWhen(how)).toSeq

  /** The newest of this barrier that has exactly its batches: a store that was ahead has later ones. */
  def of(run: String, barrier: Barrier): Option[CompletedCheckpoint] = all.values.filter { checkpoint =>
    checkpoint.run == run && checkpoint.batch == barrier.batch && checkpoint.handles.keySet == barrier.expected &&
    checkpoint.handles.values.forall(_.ref.version == barrier.batch + 1)
  }.lastOption

  /** There are those that were found, and no others; returns the numbers of the others. */
  def found(checkpoints: Seq[CompletedCheckpoint]): Set[Long] = {
    val before = ids
    all = TreeMap.from(checkpoints.map(checkpoint => checkpoint.id -> checkpoint))
    purgedBelow = 0
    before.diff(ids)
  }

  def add(checkpoint: CompletedCheckpoint): Unit = all += checkpoint.id -> checkpoint

  def remove(id: Long): Unit = all -= id

  /** The batch below which no replay begins, if it is a later one than the last time: one begins behind the oldest that
    * is retained.
    *
    * @param completing
    *   batches of checkpoints that are being written: one of them may become it
    */
  def purge(completing: Iterable[Long]): Option[Long] = {
    val needed = retained.map(_.batch) ++ completing
    Option.when(retained.nonEmpty && needed.min > purgedBelow) {
      purgedBelow = needed.min
      purgedBelow
    }
  }
}
