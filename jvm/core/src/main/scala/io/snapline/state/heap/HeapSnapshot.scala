package io.snapline.state.heap

import java.io.File

import io.snapline.state.{LocalSnapshot, PendingSnapshot}

/** What one family has for a snapshot: all of its rows, or what has changed of them. */
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
