package io.snapline.state.heap

import java.io.{File, IOException}
import java.nio.file.{FileSystemException, Files, Path}

import scala.collection.immutable.Queue
import scala.collection.mutable

import io.snapline.error.StorageFailure
import io.snapline.state.LocalFolder

/** The files a backend's snapshots stand on: an image and the changes after it, on the local disk.
  *
  * Owns the files in `folder`. Snapshots are written in the order they were taken, by whichever thread needs one first;
  * one at a time. A thread that takes a snapshot, or asks what is stored, waits for none that is being written.
  *
  * @param hardLink
  *   makes a link (first) to a file (second)
  */
private[heap] final class SnapshotChain(
    folder: File,
    settings: HeapSettings,
    hardLink: (Path, Path) => Unit = (link, file) => Files.createLink(link, file): Unit
) {
  import SnapshotChain._

  /** Taken, and not yet begun to be written. Guarded by the chain's monitor, which nobody holds while a disk works. */
  private var waiting = Queue.empty[HeapSnapshot]

  /** Held by whoever writes, from a snapshot's place in the queue to its end; it guards files and snapshots. The
    * chain's monitor may be taken inside, and not the other way round.
    */
  private val writing = new Object
  private var files = Vector.empty[File]

  /** Bytes of the files. */
  @volatile private var stored = 0L

  /** Written, and not yet in the hands of whoever wanted them. */
  private val unclaimed = mutable.HashSet.empty[HeapSnapshot]

  // Noted by the thread that takes snapshots.
  private var number = 0L
  private var imageBytes = 0L
  private var changeBytes = 0L
  private var length = 0

  /** The next snapshot must be an image: nothing is there to add to, or what is there will not do. */
  @volatile private var broken = true

  /** Any thread. */
  def storedBytes: Long = stored

  def breakOff(): Unit = broken = true

  /** The files in the folder, in order; the caller reads them. */
  def restore(): Seq[File] = writing.synchronized {
    keep(Option(folder.listFiles()).toVector.flatten.sortBy(_.getName))
    files.lastOption.foreach(file => number = file.getName.takeWhile(_ != '-').toLong)
    length = files.size
    files
  }

  /** @param image
    *   bytes of keys and values now: what an image would have
    */
  def restored(image: Long): Unit = {
    imageBytes = image
    broken = files.isEmpty
  }

  /** Whether the next snapshot is an image.
    *
    * @param image
    *   what an image would have, in bytes
    * @param changes
    *   what changes since the last snapshot would
    */
  def wantsImage(image: Long, changes: Long): Boolean =
    broken || length >= MostFiles || image < settings.smallImage ||
      changeBytes + changes >= settings.imageAfter * imageBytes

  /** Sync phase: a snapshot takes its place in the order. Changes fail at once if the chain broke after it was asked
    * whether it wants an image: some of those below them are lost.
    */
  def enqueue(snapshot: HeapSnapshot, bytes: Long): Unit = synchronized {
    number += 1
    snapshot.name = if (snapshot.isImage) imageName(number) else f"$number%010d-$Changes"
    if (snapshot.isImage) {
      imageBytes = bytes
      changeBytes = 0
      length = 1
      broken = false
    } else {
      changeBytes += bytes
      length += 1
    }
    if (broken) snapshot.failed(givenUp) else waiting = waiting.enqueue(snapshot)
  }

  /** Async phase: the links to the files of the chain up to this snapshot, in order. They are the caller's. */
  def materialize(snapshot: HeapSnapshot): Seq[File] = writing.synchronized {
    while (!snapshot.isDone && writeNext()) ()
    if (snapshot.failure != null) throw snapshot.failure
    if (!unclaimed.remove(snapshot)) throw givenUp
    snapshot.files
  }

  /** Writes all that waits. */
  def write(): Unit = writing.synchronized(while (writeNext()) ())

  /** The snapshot is not wanted any more. */
  def discard(snapshot: HeapSnapshot): Unit = writing.synchronized {
    synchronized {
      val (before, from) = waiting.span(_ ne snapshot)
      if (from.nonEmpty) waiting = before ++ fail(snapshot, from.tail, givenUp)
    }
    if (unclaimed.remove(snapshot)) LocalFolder.delete(snapshot.target)
  }

  /** Whether there was one. */
  private def writeNext(): Boolean = {
    val next = synchronized {
      val first = waiting.headOption
      waiting = waiting.drop(1)
      first
    }
    next.foreach(write)
    next.isDefined
  }

  private def write(snapshot: HeapSnapshot): Unit =
    try {
      val below = if (snapshot.isImage) Vector.empty else files
      val all = below :+ writeFile(snapshot)
      // Now: who reaches the next image first takes the files of this one away.
      snapshot.done(onDisk(snapshot.target)(link(all, snapshot.target)))
      unclaimed.add(snapshot)
      files.filterNot(all.contains).foreach(_.delete())
      keep(all)
    } catch {
      case e: Throwable =>
        new File(folder, snapshot.name).delete()
        LocalFolder.delete(snapshot.target)
        files.foreach(_.delete())
        keep(Vector.empty)
        synchronized { waiting = fail(snapshot, waiting, e) }
    }

  private def keep(all: Vector[File]): Unit = {
    files = all
    stored = all.map(_.length).sum
  }

  private def writeFile(snapshot: HeapSnapshot): File = {
    val file = new File(folder, snapshot.name)
    onDisk(file) {
      folder.mkdirs()
      val writer = new RowsFileWriter(file, settings.compress)
      try {
        snapshot.writeTo(writer)
        writer.finish()
      } finally writer.close()
    }
    file
  }

  private def link(all: Seq[File], target: File): Seq[File] = {
    target.mkdirs()
    all.map { file =>
      val linked = new File(target, file.getName)
      try hardLink(linked.toPath, file.toPath)
      catch {
        // A disk refuses in either way, and may have had enough of one file's links.
        case _: UnsupportedOperationException | _: FileSystemException =>
          Files.copy(file.toPath, linked.toPath): Unit
      }
      linked
    }
  }

  /** Fails a snapshot and the changes that stand on it, up to the next image: one that waits, or the next to be taken.
    * The caller holds both locks.
    *
    * @param behind
    *   the snapshots that were taken after it
    * @return
    *   those of them that are left
    */
  private def fail(snapshot: HeapSnapshot, behind: Queue[HeapSnapshot], reason: Throwable): Queue[HeapSnapshot] = {
    val (standing, left) = behind.span(!_.isImage)
    if (left.isEmpty) broken = true
    snapshot.failed(reason)
    standing.foreach(_.failed(givenUp))
    left
  }

  /** Waits for a snapshot that is being written; others fail. */
  def close(): Unit = writing.synchronized {
    synchronized {
      waiting.foreach(_.failed(givenUp))
      waiting = Queue.empty
      broken = true
    }
    unclaimed.foreach(snapshot => LocalFolder.delete(snapshot.target))
    unclaimed.clear()
    keep(Vector.empty)
  }

  private def onDisk[A](place: File)(body: => A): A =
    try body
    catch {
      case e: IOException =>
        throw new StorageFailure(
          s"Could not write $place: ${e.getClass.getSimpleName}: ${e.getMessage}.",
          "free space on the executor's local disk (spark.local.dir); changelogs keep the state safe, and a later snapshot is tried.",
          e
        )
    }
}

private[heap] object SnapshotChain {
  private val Image = "image"
  private val Changes = "changes"

  def imageName(number: Long): String = f"$number%010d-$Image"

  /** More files would make loading slow, and handles long. */
  private val MostFiles = 30

  private def givenUp =
    new StorageFailure("A snapshot was given up before it was made.", "nothing; the next one follows.")
}
