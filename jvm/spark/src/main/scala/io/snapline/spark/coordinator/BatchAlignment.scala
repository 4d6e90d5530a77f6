package io.snapline.spark.coordinator

import io.snapline.spark.protocol.{Alignment, CheckpointFolder}

/** Knows the batches of a query that have run before, and how the tasks of each treat rows for which there is no time.
  * Guarded by its owner.
  *
  * @param first
  *   the alignment of batches that run for the first time
  */
private[spark] final class BatchAlignment(folder: CheckpointFolder, first: Alignment) {
  private var replays = false
  private var unfinished = -1L

  /** The alignment of the batch that is run again. */
  private var repeated: Alignment = Alignment.Aligned

  def replay(committed: Boolean): Unit = {
    replays = true
    repeated = again(committed)
  }

  def goOn(unfinished: Long): Unit = {
    replays = false
    this.unfinished = unfinished
    repeated = if (unfinished < 0) Alignment.Aligned else again(committed = false)
  }

  /** The batch is cut again at the place where it was cut before. */
  private def again(committed: Boolean): Alignment =
    if (folder.mayHaveCuts) Alignment.Repeated(committed) else Alignment.Aligned

  def isReplaying: Boolean = replays

  def isUnfinished(batch: Long): Boolean = batch == unfinished

  /** @param savepoint
    *   whether a savepoint is to be taken at its barrier: as with Flink, it may hold no in-flight data
    */
  def of(batch: Long, savepoint: Boolean): Alignment =
    if (replays || isUnfinished(batch)) repeated
    else if (savepoint) Alignment.Aligned
    else first

  /** Forgets where batches below this one were cut: no replay can reach them any more. */
  def purge(batch: Long): Unit = if (first != Alignment.Aligned) folder.purgeCuts(batch)

  /** The same where batches are durable by themselves: Spark purges its logs, and replays reach as far back as they do.
    *
    * @param named
    *   batches of checkpoints, asked for when the log has been read. The notes of such a batch say whether rows wait in
    *   a savepoint that is made of its checkpoint
    */
  def purgeBelowLog(named: => Set[Long]): Unit =
    if (first != Alignment.Aligned) folder.oldestPlanned.foreach(oldest => folder.purgeCuts(oldest, named))
}
