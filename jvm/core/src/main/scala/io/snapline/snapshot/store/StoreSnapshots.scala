package io.snapline.snapshot.store

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.snapline.snapshot.format.{HandleMeta, VersionRef}
import io.snapline.snapshot.upload.{HandleDestination, LocalBackup, OwnFile}

/** The snapshots of one store: begins them, and sees to what follows from each that was made. Any thread.
  *
  * @param merged
  *   where handles of checkpoints go under interval durability; None: files of their own
  * @param made
  *   told the meta of every snapshot and the time it took in milliseconds
  */
private[snapshot] final class StoreSnapshots(
    store: StoreContext,
    merged: Option[HandleDestination],
    made: (HandleMeta, Long) => Unit
) {
  private val log = LoggerFactory.getLogger(classOf[StoreSnapshots])
  private val ownFile = new OwnFile(store.storage)
  private val backup = store.near.filter(_ => store.settings.localBackup).map(new LocalBackup(_))

  /** @param alone
    *   changes are not in storage, so that it stands for itself
    */
  def ofCheckpoint(held: HeldState, ref: VersionRef, alone: Boolean): SnapshotRun = {
    val to = merged.filter(_ => alone).getOrElse(ownFile)
    SnapshotRun.prepare(store, held, ref, note(held), to, ofCheckpoint = true, backup)
  }

  /** The caller has claimed it. */
  def ofPolicy(held: HeldState, ref: VersionRef): SnapshotRun =
    try SnapshotRun.prepare(store, held, ref, note(held), ownFile, ofCheckpoint = false, None)
    catch { case e: Throwable => held.snapshotEnded(); throw e }

  private def note(held: HeldState)(meta: HandleMeta, millis: Long): Unit = {
    held.superseded().foreach(release)
    made(meta, millis)
  }

  /** Removes the executor's own files that no version from this snapshot on needs. To be called when the snapshot's
    * version was loaded: until then the batch that made it may be run again, and begins at the version before. A
    * failure costs space.
    */
  def release(below: VersionRef): Unit = store.near.foreach { own =>
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
