package io.snapline.spark.coordinator

import io.snapline.checkpoint.coordinator.CheckpointCoordinator
import io.snapline.checkpoint.NamedFile
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
}

/** The checkpoint that a query's runs are restored from, if any: the stores of its version load what it names. Guarded
  * by its owner.
  */
private[spark] final class BaseCheckpoint(folder: CheckpointFolder) {
  private var restored: Option[Long] = None

  /** The checkpoint whose handles were copied into the stores' folders. */
  private var unmerged: Option[Long] = None

  def id: Option[Long] = restored

  /** @param checkpoint 0: stores load whatever is durable */
  def from(checkpoint: Long): Unit = {
    restored = Some(checkpoint).filter(_ > 0)
    unmerged = None
  }

  /** Path of the `_metadata` in which its stores find their handles. */
  def path: Option[String] = restored.map(folder.metadataPath)

  /** The same path as long as the checkpoint is retained: a store that a new executor opens later must not look for a
    * subsumed one.
    */
  def pathIfRetained(coordinator: CheckpointCoordinator): Option[String] =
    path.filter(_ => (coordinator.retained ++ coordinator.savepoints).exists(c => restored.contains(c.id)))

  /** Copies merged handles into the stores' folders, before a batch becomes durable without the coordinator.
    *
    * @param isNamed
    *   by a checkpoint: one that was about to be complete when its run ended may still become so
    */
  def unmerge(isNamed: NamedFile => Boolean): Unit = restored.filterNot(unmerged.contains).foreach { checkpoint =>
    folder.unmerge(folder.read(checkpoint), isNamed)
    unmerged = Some(checkpoint)
  }
}
