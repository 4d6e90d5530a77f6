package io.snapline.snapshot.upload

import java.io.{File, FileInputStream}
import java.nio.file.Files
import java.util.zip.CRC32C

import io.snapline.error.StorageFailure
import io.snapline.snapshot.format._
import io.snapline.state.LocalSnapshot
import io.snapline.storage.CheckpointStorage

/** The async phase up to the handle: uploads the table files that no earlier snapshot of this backend holds.
  *
  * Owns nothing: the caller deletes the local snapshot. Table files that were uploaded before a failure stay until
  * clean-up finds that nobody names them.
  *
  * @param known
  *   table files in storage by the backend's names, from the last snapshot of the same backend
  */
private[snapshot] final class SnapshotUpload(
    storage: CheckpointStorage,
    clock: UidClock,
    known: Map[String, TableFile],
    deadlineNanos: Long
) {

  /** Uploads the snapshot and returns the content of its handle. All files that it names are durable when this returns.
    */
  def run(
      ref: VersionRef,
      local: LocalSnapshot,
      backend: String,
      families: Seq[FamilyState],
      created: Long,
      origin: Origin
  ): HandleMeta = {
    val before = local.tables.map(file => known.get(file.getName).filter(_.length == file.length()))
    val files = local.tables.zip(before).map {
      case (_, Some(there)) => there
      case (file, None) => upload(file)
    }
    val fresh = files.zip(before).collect { case (file, None) => file }
    val meta = HandleMeta(
      ref,
      families,
      backend,
      files,
      local.small.map(file => file.getName -> file.length().toInt),
      fresh.size,
      fresh.map(_.length).sum,
      created,
      origin
    )
    checkDeadline()
    meta
  }

  private def upload(file: File): TableFile = {
    checkDeadline()
    val table = TableFile(file.getName, clock.next(), file.length(), 0)
    val crc = new CRC32C
    var sent = 0L
    val output = storage.create(table.storedName)
    try {
      val input = new FileInputStream(file)
      try {
        val buffer = new Array[Byte](1 << 18)
        var read = input.read(buffer)
        while (read >= 0) {
          crc.update(buffer, 0, read)
          output.write(buffer, 0, read)
          sent += read
          read = input.read(buffer)
        }
      } finally input.close()
      // The folder may have been deleted under this thread: its store was closed.
      if (sent != table.length) {
        throw new StorageFailure(
          s"$file ended after $sent of ${table.length} bytes.",
          "nothing; the next snapshot follows."
        )
      }
      output.close()
    } catch { case e: Throwable => output.abandon(); throw e }
    table.copy(crc32c = crc.getValue.toInt)
  }

  /** Clean-up takes unnamed table files for orphans after a day; an upload must be over long before. */
  private def checkDeadline(): Unit = if (System.nanoTime() - deadlineNanos > 0) {
    throw new StorageFailure(
      "A snapshot took too long to upload and was given up.",
      "nothing; the next one follows. See to the checkpoint's file system."
    )
  }
}

private[snapshot] object SnapshotUpload {

  /** Returns the length of the handle, which is whole and durable then. */
  def writeHandle(to: CheckpointStorage, meta: HandleMeta, local: LocalSnapshot): Long =
    writeHandle(to, meta, local.small.view.map(file => Files.readAllBytes(file.toPath)))

  /** @param small
    *   contents of the files that go into the handle
    */
  def writeHandle(to: CheckpointStorage, meta: HandleMeta, small: Iterable[Array[Byte]]): Long = {
    val frame = new FrameWriter(to.create(meta.ref.handleName), Frame.HandleMagic, compress = true)
    try {
      small.foreach(bytes => frame.block(bytes, 0, bytes.length))
      frame.finish(Meta.bytes(meta))
    } catch { case e: Throwable => frame.abandon(); throw e }
    frame.bytesWritten
  }
}
