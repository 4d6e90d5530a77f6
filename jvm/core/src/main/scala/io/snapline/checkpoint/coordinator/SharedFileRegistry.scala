package io.snapline.checkpoint.coordinator

import scala.collection.mutable

import io.snapline.checkpoint.{MergedHandles, NamedFile, StoreFile, StoreId}
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
