package io.snapline.spark.coordinator

import io.snapline.checkpoint.NamedFile
import io.snapline.checkpoint.coordinator.CheckpointCoordinator
import io.snapline.spark.protocol.{CheckpointFolder, RestoreFrom}

/** The checkpoint that a query's runs are restored from, if any: the stores of its version load what it names. Guarded
  * by its owner, but for `id`.
  */
private[spark] final class BaseCheckpoint(folder: CheckpointFolder) {
  @volatile private var base: Option[(Long, RestoreFrom)] = None

  /** The checkpoint whose handles were copied into the stores' folders. */
  private var unmerged: Option[Long] = None

  /** Any thread. */
  def id: Option[Long] = base.map(_._1)

  /** @param checkpoint 0: stores load whatever is durable */
  def from(checkpoint: Long): Unit = {
    base = Option.when(checkpoint > 0) {
      checkpoint -> RestoreFrom(folder.metadataPath(checkpoint), folder.read(checkpoint).batch + 1)
    }
    unmerged = None
  }

  /** Where its stores find their handles. */
  def restoreFrom: Option[RestoreFrom] = base.map(_._2)

  /** The same as long as the checkpoint is retained: a store that a new executor opens later need not look for a
    * subsumed one.
    */
  def ifRetained(coordinator: CheckpointCoordinator): Option[RestoreFrom] =
    restoreFrom.filter(_ => (coordinator.retained ++ coordinator.savepoints).exists(c => id.contains(c.id)))

  /** Copies merged handles into the stores' folders, before a batch becomes durable without the coordinator.
    *
    * @param isNamed
    *   by a checkpoint: one that was about to be complete when its run ended may still become so
    */
  def unmerge(isNamed: NamedFile => Boolean): Unit = id.filterNot(unmerged.contains).foreach { checkpoint =>
    folder.unmerge(folder.read(checkpoint), isNamed)
    unmerged = Some(checkpoint)
  }
}
