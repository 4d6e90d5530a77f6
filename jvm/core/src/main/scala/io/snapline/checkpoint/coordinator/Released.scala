package io.snapline.checkpoint.coordinator

import scala.collection.mutable

import io.snapline.checkpoint.NamedFile

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

  /** What was taken up again by the same event stays. */
  def deletions: Seq[Action.Delete] = entries.toSeq.flatMap { case (checkpoint, metadata, released) =>
    val (handles, tables) = files.unnamed(released.distinct).partition(SharedFileRegistry.isHandle)
    if (metadata || handles.nonEmpty || tables.nonEmpty) Some(Action.Delete(checkpoint, metadata, handles, tables))
    else None
  }
}
