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

private[snapline] object LocalFolder {

  /** The folder and all that is in it, as far as the disk lets it go. */
  def delete(folder: File): Unit = {
    val inside = folder.listFiles()
    if (inside != null) inside.foreach(delete)
    folder.delete(): Unit
  }
}

/** Makes the files of a store of rows that nobody has changed since: no version, no changelog, no row table.
  *
  * Rows come in runs, each of one family and with ascending keys (unsigned order); no key comes twice. Owns its folder
  * until `close`. One thread.
  */
trait StoreBuilder extends AutoCloseable {

  /** As in the handle's meta. */
  def kind: String

  /** Begins a run; the one before is over. The family is in the store from here on, with or without rows. */
  def begin(family: FamilyDescriptor): Unit

  def put(key: Array[Byte], value: Array[Byte]): Unit

  /** The files of all runs; good until `close`. Nothing may be put any more. */
  def finish(): LocalSnapshot

  /** Deletes its files, handed out or not. */
  override def close(): Unit
}
