package io.snapline.snapshot.upload

import java.io.{File, IOException}
import java.nio.file.{Files, StandardCopyOption}

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.snapline.error.SnaplineException
import io.snapline.snapshot.format.{HandleMeta, Origin, StateFiles, StoreFolder, TableFile, UidClock, VersionRef}
import io.snapline.state.LocalSnapshot
import io.snapline.storage.CheckpointStorage

/** A folder of the executor's own for one store. Its maker deletes it. */
final case class NearFolder(folder: File, storage: CheckpointStorage)

/** The executor's own copies of a store's newest checkpoints, laid out as in storage. An attempt that follows a failed
  * one need not fetch them. Cost no copying: the files are those the snapshots had linked.
  *
  * Owns what it puts into `folder`. A copy stays until a later one is `release`d from: the batch that made the later
  * version may be run again. Any thread.
  */
private[snapshot] final class LocalBackup(near: NearFolder) {
  private val log = LoggerFactory.getLogger(classOf[LocalBackup])
  private val folder = near.folder
  private val tables = new File(folder, TableFile.Folder)

  /** The names of their table files. */
  private var copies = Map.empty[VersionRef, Set[String]]

  /** Takes the files of a snapshot that is in storage. A failure costs the copy, and nothing else. */
  def keep(meta: HandleMeta, local: LocalSnapshot): Unit = synchronized {
    try {
      tables.mkdirs()
      val stored = meta.files.map(file => file.name -> new File(folder, file.storedName)).toMap
      local.tables.foreach { file =>
        val target = stored(file.getName)
        if (!target.exists()) Files.move(file.toPath, target.toPath, StandardCopyOption.ATOMIC_MOVE): Unit
      }
      // A handle whose tables are not all there must not be found.
      SnapshotUpload.writeHandle(near.storage, meta, local): Unit
      copies += meta.ref -> stored.values.map(_.getName).toSet
    } catch {
      case e @ (_: IOException | _: SnaplineException) =>
        log.warn(s"No copy of the snapshot ${meta.ref} is kept in $folder: $e")
        clear()
    }
  }

  /** The copies that go are those of versions below this one, and of other attempts at it. */
  def release(below: VersionRef): Unit = synchronized {
    copies = copies.filter { case (ref, _) => ref == below || ref.version > below.version }
    clear()
  }

  /** Removes what is part of no copy; handles first. */
  private def clear(): Unit =
    try {
      val kept = copies.values.flatten.toSet ++ copies.keys.map(_.handleName)
      val handles = listed(folder).filter(file => VersionRef.parse(file.getName).exists(_._2 == VersionRef.Handle))
      (handles ++ listed(tables)).filterNot(file => kept(file.getName)).foreach(_.delete())
    } catch { case NonFatal(e) => log.warn(s"Old copies in $folder were not removed: $e") }

  private def listed(place: File): Seq[File] = Option(place.listFiles()).toSeq.flatten
}

/** Gives a snapshot the version of an earlier batch, in a handle of its own that names the same table files: a recovery
  * from a checkpoint taken AT_LEAST_ONCE goes back to the checkpoint's batch with every store, whichever batches its
  * snapshot holds.
  *
  * The handle it writes belongs to whoever cleans up the store's folder.
  */
private[snapshot] final class BackdatedSnapshot(storage: CheckpointStorage, clock: UidClock, origin: Origin) {

  /** Returns the name of the new handle, which is durable. */
  def write(of: VersionRef, version: Long): VersionRef = {
    StoreFolder.list(storage).refs.foreach(ref => clock.observe(ref.uid))
    val (meta, small) = new StateFiles(storage).handle(of)
    val ref = VersionRef(version, clock.next())
    val backdated = meta.copy(
      ref = ref,
      uploadedFiles = 0,
      uploadedBytes = 0,
      created = System.currentTimeMillis(),
      origin = meta.origin.copy(writer = origin.writer, run = origin.run)
    )
    SnapshotUpload.writeHandle(storage, backdated, small.map(_._2)): Unit
    ref
  }
}
