package io.snapline.checkpoint.coordinator

import scala.collection.immutable.TreeMap
import scala.collection.mutable

import io.snapline.checkpoint.{NamedFile, StateHandle, StoreId}
import io.snapline.snapshot.format.VersionRef

/** The newest snapshot each store has acknowledged in this run, whether or not its checkpoint came to something: the
  * store's next snapshot reuses its table files. Newest is what was triggered last: versions go back when an older
  * checkpoint is restored.
  *
  * Only one attempt of a task counts, and only the one that is told so may build on its snapshot (`isBase`). An older
  * snapshot stays while a checkpoint between the two is still to be acknowledged: acknowledgements may overtake each
  * other, and that one may have been built on the older.
  */
private[checkpoint] final class NewestHandles(files: SharedFileRegistry) {
  private val stores = mutable.HashMap.empty[StoreId, TreeMap[Long, VersionRef]].withDefaultValue(TreeMap.empty)

  def isBase(store: StoreId, ref: VersionRef): Boolean = stores(store).lastOption.exists(_._2 == ref)

  def acknowledged(store: StoreId, checkpoint: Long, handle: StateHandle): Unit =
    if (stores(store).lastOption.forall(_._1 < checkpoint)) {
      stores(store) = stores(store) + (checkpoint -> handle.ref)
      files.hold(Holder.OfStore(store, checkpoint), handle.owns(store))
    }

  /** Lets go of what the store's next snapshot cannot be built on; returns the files that are free now, and the
    * checkpoints they were acknowledged for.
    *
    * @param awaited
    *   the oldest checkpoint in progress that the store has not acknowledged
    */
  def prune(store: StoreId, awaited: Option[Long]): Seq[(Long, Seq[NamedFile])] = {
    val all = stores(store)
    val oldest = awaited.flatMap(all.maxBefore(_)).orElse(if (awaited.isEmpty) all.lastOption else None).map(_._1)
    val (over, kept) = all.partition { case (id, _) => oldest.exists(id < _) }
    if (over.nonEmpty) stores(store) = kept
    over.keys.toSeq.map(id => (id, files.release(Holder.OfStore(store, id))))
  }

  /** No executor goes on from any of them. */
  def release(): Seq[(Long, Seq[NamedFile])] = {
    val all = stores.toSeq.flatMap { case (store, ids) => ids.keys.map((_, store)) }
    stores.clear()
    all.sortBy { case (id, store) => (id, store.operator, store.partition, store.store) }
      .map { case (id, store) => (id, files.release(Holder.OfStore(store, id))) }
  }
}
