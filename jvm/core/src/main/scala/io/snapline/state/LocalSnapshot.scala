package io.snapline.state

import java.io.File

/** Files of a backend on the local disk that nobody changes any more.
  *
  * @param folder
  *   owned by whoever got this object, who deletes it
  * @param tables
  *   large immutable files, shared between snapshots of one backend by name
  * @param small
  *   files that belong to this snapshot alone, in the order they must be written back
  */
final case class LocalSnapshot(folder: File, tables: Seq[File], small: Seq[File]) {

  /** Table files at most so long count as small: one more file in storage would cost more than writing them again. */
  def inline(threshold: Int): LocalSnapshot = {
    val (short, long) = tables.partition(_.length() <= threshold)
    copy(tables = long, small = small ++ short)
  }
}

/** The sync phase's result: a position in the backend's changes. */
trait PendingSnapshot {

  /** The async phase's local part; any thread, once. Blocks until the files are there. */
  def materialize(): LocalSnapshot

  /** Gives it up, before or instead of `materialize`. */
  def discard(): Unit
}
