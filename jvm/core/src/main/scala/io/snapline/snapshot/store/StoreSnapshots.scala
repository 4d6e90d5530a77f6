package io.snapline.snapshot.store

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.snapline.snapshot.format.{HandleMeta, Origin, UidClock, VersionRef}
import io.snapline.snapshot.upload.{HandleDestination, LocalBackup, NearFolder, OwnFile}
import io.snapline.storage.CheckpointStorage

/** The snapshots of one store: begins them, and sees to what follows from each that was made. Any thread.
  *
  * @param near
  *   the executor's own folder, whose files a snapshot makes superfluous
  * @param merged
  *   where handles of checkpoints go under interval durability; None: files of their own
  * @param made
  *   told the meta of every snapshot and the time it took in milliseconds
  */
private[snapshot] final class StoreSnapshots(
    storage: CheckpointStorage,
    near: Option[NearFolder],
    merged: Option[HandleDestination],
    settings: StateSettings,
    origin: Origin,
    clock: UidClock,
    made: (HandleMeta, Long) => Unit
) {
  private val log = LoggerFactory.getLogger(classOf[StoreSnapshots])
  private val ownFile = new OwnFile(storage)
  private val backup = near.filter(_ => settings.localBackup).map(new LocalBackup(_))

  /** @param alone
    *   changes are not in storage, so that it stands for itself
    */
  def ofCheckpoint(held: HeldState, ref: VersionRef, alone: Boolean): SnapshotRun = {
    val to = merged.filter(_ => alone).getOrElse(ownFile)
    new SnapshotRun(storage, clock, settings, origin, held, ref, note(held), to, outlives = true, backup)
  }

  /** The caller has claimed it. */
  def ofPolicy(held: HeldState, ref: VersionRef): SnapshotRun =
    try new SnapshotRun(storage, clock, settings, origin, held, ref, note(held), ownFile, outlives = false)
    catch { case e: Throwable => held.snapshotEnded(); throw e }

  private def note(held: HeldState)(meta: HandleMeta, millis: Long): Unit = {
    held.superseded().foreach(release)
    made(meta, millis)
  }

  /** Removes the executor's own files that no version from this snapshot on needs. To be called when the snapshot's
    * version was loaded: until then the batch that made it may be run again, and begins at the version before. A
    * failure costs space.
    */
  def release(below: VersionRef): Unit = near.foreach { own =>
    try {
      own.storage.list("").map(_.name).foreach { name =>
        VersionRef.parse(name) match {
          case Some((ref, VersionRef.Changelog)) if ref.version <= below.version => own.storage.delete(name): Unit
          case _ => ()
        }
      }
      backup.foreach(_.release(below))
    } catch { case NonFatal(e) => log.warn(s"Files in ${own.folder} below version $below were not removed.", e) }
  }
}
