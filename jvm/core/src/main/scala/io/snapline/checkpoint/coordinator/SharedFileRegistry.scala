package io.snapline.checkpoint.coordinator

import scala.collection.immutable.TreeMap
import scala.collection.mutable

import io.snapline.checkpoint.{MergedHandles, NamedFile, StateHandle, StoreFile, StoreId}
import io.snapline.snapshot.format.VersionRef

/** Who names a file. */
sealed trait Holder

object Holder {

  /** A checkpoint that is pending, completing, retained, or a savepoint. */
  final case class OfCheckpoint(id: Long) extends Holder

  /** A snapshot that its store acknowledged for the checkpoint, and may build the next one on. */
  final case class OfStore(store: StoreId, checkpoint: Long) extends Holder
}

/** Counts who names which file of a query's stores; a file nobody names may go. Promise 2 rests on this class: it owns
  * no files, but nothing else says what is deleted.
  *
  * A file that was never held is none of its business: it may belong to an upload under way.
  */
final class SharedFileRegistry {
  private val held = mutable.HashMap.empty[Holder, Set[NamedFile]]
  private val counts = mutable.HashMap.empty[NamedFile, Int]

  def names(file: NamedFile): Boolean = counts.contains(file)

  /** How many files somebody names. */
  def size: Int = counts.size

  def unnamed(files: Seq[NamedFile]): Seq[NamedFile] = files.filterNot(names)

  /** Adds to what the holder names. */
  def hold(holder: Holder, files: Iterable[NamedFile]): Unit = {
    val before = held.getOrElse(holder, Set.empty)
    val added = files.iterator.filterNot(before).toSet
    added.foreach(file => counts(file) = counts.getOrElse(file, 0) + 1)
    held(holder) = before ++ added
  }

  /** The holder is gone; returns the files that only it named. */
  def release(holder: Holder): Seq[NamedFile] = held.remove(holder).toSeq.flatten.filter { file =>
    val left = counts(file) - 1
    if (left == 0) counts.remove(file): Unit else counts(file) = left
    left == 0
  }
}

object SharedFileRegistry {
  def isHandle(file: NamedFile): Boolean = file match {
    case StoreFile(_, name) => VersionRef.parse(name).isDefined
    case _: MergedHandles => true
  }
}

/** Gathers what one event has set free, in the order it came free, and turns it into deletions.
  *
  * A file comes free when its last holder lets it go, so it stands with that one: a checkpoint's metadata is always
  * gone before a file it named.
  */
private[checkpoint] final class Released(files: SharedFileRegistry) {
  private val entries = mutable.ArrayBuffer.empty[(Long, Boolean, Seq[NamedFile])]

  def add(checkpoint: Long, released: Seq[NamedFile], metadata: Boolean = false): Unit =
    if (metadata || released.nonEmpty) {
      entries.lastOption match {
        case Some((`checkpoint`, before, more)) =>
          entries(entries.size - 1) = (checkpoint, before || metadata, more ++ released)
        case _ => entries += ((checkpoint, metadata, released))
      }
    }

  /** A file that the same event named again stays. */
  def deletions: Seq[Action.Delete] = entries.toSeq.flatMap { case (checkpoint, metadata, released) =>
    val (handles, tables) = files.unnamed(released.distinct).partition(SharedFileRegistry.isHandle)
    if (metadata || handles.nonEmpty || tables.nonEmpty) Some(Action.Delete(checkpoint, metadata, handles, tables))
    else None
  }
}

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
