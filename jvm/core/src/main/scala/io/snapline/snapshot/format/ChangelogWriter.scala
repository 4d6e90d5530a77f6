package io.snapline.snapshot.format

import io.snapline.state.ChangeSink
import io.snapline.storage.CheckpointStorage

/** Writes one changelog while its version is being made. Owns the file; it is created with the first block, so a
  * version that is aborted early leaves nothing. One thread.
  *
  * @param kept
  *   false: changes are counted and not written
  * @param shown
  *   whether a change feed may read the file
  */
private[snapshot] final class ChangelogWriter(
    val storage: CheckpointStorage,
    val ref: VersionRef,
    compress: Boolean,
    val kept: Boolean = true,
    shown: Boolean = true
) extends ChangeSink {
  private var frame: FrameWriter = _
  private var entryCount = 0L
  private var raw = 0L

  override val eachChange: Boolean = kept && shown

  def entries: Long = entryCount
  def rawBytes: Long = raw
  def bytesWritten: Long = if (frame == null) 0 else frame.bytesWritten

  override def write(entries: Array[Byte], offset: Int, length: Int, count: Int): Unit = {
    if (kept) open.block(entries, offset, length)
    entryCount += count
    raw += length
  }

  /** The changelog is whole and durable when this returns. */
  def finish(meta: ChangelogMeta): Unit = if (kept) open.finish(Meta.bytes(meta))

  def abandon(): Unit = if (frame != null) frame.abandon()

  private def open: FrameWriter = {
    if (frame == null) frame = new FrameWriter(storage.create(ref.changelogName), Frame.ChangelogMagic, compress)
    frame
  }
}
