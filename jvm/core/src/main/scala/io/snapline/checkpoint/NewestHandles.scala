package io.snapline.checkpoint

import scala.collection.mutable

/** The newest snapshot each store has acknowledged in this run. Newest is what was triggered last: versions go back when an older checkpoint is restored.
  *
  * Two attempts of one task may both acknowledge; either may be the one that goes on, so both are kept.
  */
private[checkpoint] final class NewestHandles(files: SharedFileRegistry) {
  private val checkpoints = mutable.HashMap.empty[StoreId, Long]

  /** Returns the files that are free now, and the checkpoint they were acknowledged for. */
  def acknowledged(store: StoreId, checkpoint: Long, handle: StateHandle): Option[(Long, Seq[StoreFile])] = {
    val holder = Holder.OfStore(store)
    checkpoints.get(store) match {
      case Some(newest) if newest > checkpoint => None
      case Some(newest) if newest == checkpoint =>
        files.hold(holder, handle.names(store))
        None
      case before =>
        checkpoints(store) = checkpoint
        Some((before.getOrElse(checkpoint), files.replace(holder, handle.names(store))))
    }
  }

  /** No executor goes on from any of them. */
  def release(): Seq[(Long, Seq[StoreFile])] = {
    val released = checkpoints.toSeq.sortBy { case (store, id) => (id, store.operator, store.partition, store.store) }
      .map { case (store, id) => (id, files.release(Holder.OfStore(store))) }
    checkpoints.clear()
    released
  }
}
