package io.snapline.spark.coordinator

import io.snapline.checkpoint.coordinator.CheckpointCoordinator
import io.snapline.checkpoint.NamedFile
import io.snapline.spark.protocol.CheckpointFolder

/** The checkpoint that a query's runs are restored from, if any: the stores of its version load what it names. Guarded
  * by its owner.
  */
private[spark] final class BaseCheckpoint(folder: CheckpointFolder) {
  private var restored: Option[Long] = None

  /** Whose handles the stores' folders have by now. */
  private var unmerged: Option[Long] = None

  def id: Option[Long] = restored

  /** @param checkpoint 0: stores load whatever is durable */
  def from(checkpoint: Long): Unit = {
    restored = Some(checkpoint).filter(_ > 0)
    unmerged = None
  }

  /** Where its stores find their handles. */
  def path: Option[String] = restored.map(folder.metadataPath)

  /** As long as it is there: a store that is opened later, on an executor that is new, must not look for one that was
    * subsumed.
    */
  def pathIfRetained(coordinator: CheckpointCoordinator): Option[String] =
    path.filter(_ => (coordinator.retained ++ coordinator.savepoints).exists(c => restored.contains(c.id)))

  /** Before anything that counts is built on what only the coordinator can find.
    *
    * @param isNamed
    *   by a checkpoint: one that was about to be complete when its run ended may still become so
    */
  def unmerge(isNamed: NamedFile => Boolean): Unit = restored.filterNot(unmerged.contains).foreach { checkpoint =>
    folder.unmerge(folder.read(checkpoint), isNamed)
    unmerged = Some(checkpoint)
  }
}
