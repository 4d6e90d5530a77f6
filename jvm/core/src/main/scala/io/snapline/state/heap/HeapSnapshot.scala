package io.snapline.state.heap

import java.io.File
import java.util.TreeMap

import io.snapline.state.{LocalSnapshot, PendingSnapshot}

/** One family's part of a snapshot: all of its rows, or its changes. */
private[heap] sealed trait FamilyContent { def family: Int }
private[heap] final case class AllRows(family: Int, foreach: (Array[Byte] => Unit) => Unit) extends FamilyContent
private[heap] final case class SomeRows(family: Int, changes: ChangedRows) extends FamilyContent

/** A snapshot that was taken and is to be written. Guarded by its chain.
  *
  * @param target
  *   for the files; owned until they are handed over
  * @param written
  *   told once, when the rows are not needed any more
  */
private[heap] final class HeapSnapshot(
    val isImage: Boolean,
    private var content: Seq[FamilyContent],
    chain: SnapshotChain,
    val target: File,
    written: () => Unit
) extends PendingSnapshot {
  var name: String = _
  private var links: Seq[File] = _
  private var reason: Throwable = _

  /** Written, or failed. */
  def isDone: Boolean = content == null

  def failure: Throwable = reason

  /** In `target`: the file and those it stands on. */
  def files: Seq[File] = links

  def done(linked: Seq[File]): Unit = {
    links = linked
    end()
  }

  def failed(why: Throwable): Unit = {
    reason = why
    end()
  }

  private def end(): Unit = if (content != null) {
    content = null
    written()
  }

  /** Deleted keys first: a key that came back is among the rows. */
  def writeTo(writer: RowsFileWriter): Unit = {
    content.foreach {
      case SomeRows(family, changes) => changes.foreachDeleted(writer.delete(family, _))
      case _ => ()
    }
    content.foreach {
      case SomeRows(family, changes) => changes.foreachRow(writer.put(family, _))
      case AllRows(family, foreach) => foreach(writer.put(family, _))
    }
  }

  override def materialize(): LocalSnapshot = LocalSnapshot(target, chain.materialize(this), Nil)

  override def discard(): Unit = chain.discard(this)
}

/** The version a backend's maps are at, and the snapshots of earlier ones that are not written yet. One thread takes;
  * any thread releases.
  */
private[heap] final class SnapshotVersions(released: () => Unit = () => ()) {
  private val outstanding = new TreeMap[Integer, java.lang.Boolean]
  private var now = 1
  @volatile private var oldest = 0
  @volatile private var rows = 0
  @volatile private var tables = 0

  /** The version of changes from here on. */
  def current: Int = now

  /** Whether a row with this stamp belongs to a snapshot too: to an image, or to the changes of its version. */
  def holdsRow(stamp: Int): Boolean = stamp <= rows && (stamp >= oldest || stamp <= tables)

  /** Whether a table of rows with this stamp belongs to an image too. */
  def holdsTable(stamp: Int): Boolean = stamp <= tables

  /** Begins a new version; returns the one that ends. */
  def take(image: Boolean): Int = synchronized {
    val taken = now
    outstanding.put(taken, image)
    now += 1
    count()
    taken
  }

  /** A snapshot that was taken is written, or aborted. */
  def release(version: Int): Unit = synchronized {
    if (outstanding.remove(version) != null) {
      count()
      if (outstanding.isEmpty) released()
    }
  }

  private def count(): Unit = {
    oldest = if (outstanding.isEmpty) 0 else outstanding.firstKey
    rows = if (outstanding.isEmpty) 0 else outstanding.lastKey
    var newestImage = 0
    outstanding.forEach((version, image) => if (image) newestImage = version)
    tables = newestImage
  }
}
