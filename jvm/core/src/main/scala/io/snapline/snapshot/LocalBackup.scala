package io.snapline.snapshot

import java.io.{File, IOException}
import java.nio.file.{Files, StandardCopyOption}

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.snapline.error.SnaplineException
import io.snapline.state.LocalSnapshot
import io.snapline.storage.CheckpointStorage

/** A folder of the executor's own for one store. Whoever makes it deletes it. */
final case class NearFolder(folder: File, storage: CheckpointStorage)

/** The executor's own copy of a store's newest checkpoint, laid out as in storage, so that an attempt that follows a failed one need not fetch it. Costs no copying: the
  * files are those the snapshot had linked.
  *
  * Owns what it puts into `folder`. One thread at a time.
  */
private[snapshot] final class LocalBackup(near: NearFolder) {
  private val log = LoggerFactory.getLogger(classOf[LocalBackup])
  private val folder = near.folder
  private val tables = new File(folder, TableFile.Folder)

  /** Takes the files of a snapshot that is in storage; those of older ones go. A failure costs the copy, and nothing else. */
  def keep(meta: HandleMeta, local: LocalSnapshot): Unit =
    try {
      tables.mkdirs()
      val stored = meta.files.map(file => file.name -> new File(folder, file.storedName)).toMap
      local.tables.foreach { file =>
        val target = stored(file.getName)
        if (!target.exists()) Files.move(file.toPath, target.toPath, StandardCopyOption.ATOMIC_MOVE): Unit
      }
      // A handle whose tables are not all there must not be found.
      SnapshotUpload.writeHandle(near.storage, meta, local): Unit
      clear(except = stored.values.map(_.getName).toSet + meta.ref.handleName)
    } catch {
      case e @ (_: IOException | _: SnaplineException) =>
        log.warn(s"No copy of the snapshot ${meta.ref} is kept in $folder: $e")
        clear(except = Set.empty)
    }

  /** Handles first. */
  private def clear(except: Set[String]): Unit =
    try {
      val handles = listed(folder).filter(file => VersionRef.parse(file.getName).exists(_._2 == VersionRef.Handle))
      (handles ++ listed(tables)).filterNot(file => except(file.getName)).foreach(_.delete())
    } catch { case NonFatal(e) => log.warn(s"Old copies in $folder were not removed: $e") }

  private def listed(place: File): Seq[File] = Option(place.listFiles()).toSeq.flatten
}
