package io.snapline.snapshot

import io.snapline.storage.CheckpointStorage

/** The snapshots of one store: begins them, and sees to what follows from each that was made. Any thread.
  *
  * @param near
  *   the executor's own folder, whose changelogs a snapshot makes superfluous
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
  private val ownFile = new OwnFile(storage)
  private val backup = near.filter(_ => settings.localBackup).map(new LocalBackup(_))

  /** @param alone
    *   changes are not in storage, so that it stands for itself
    */
  def ofCheckpoint(held: HeldState, ref: VersionRef, alone: Boolean): SnapshotRun = {
    val to = merged.filter(_ => alone).getOrElse(ownFile)
    new SnapshotRun(storage, clock, settings, origin, held, ref, note, to, backup)
  }

  /** The caller has claimed it. */
  def ofPolicy(held: HeldState, ref: VersionRef): SnapshotRun =
    try new SnapshotRun(storage, clock, settings, origin, held, ref, note, ownFile)
    catch { case e: Throwable => held.snapshotEnded(); throw e }

  private def note(meta: HandleMeta, millis: Long): Unit = {
    near.foreach(own => forget(own.storage, meta.ref.version))
    made(meta, millis)
  }

  /** Changelogs that a snapshot covers. */
  private def forget(folder: CheckpointStorage, until: Long): Unit = folder.list("").map(_.name).foreach { name =>
    VersionRef.parse(name) match {
      case Some((ref, VersionRef.Changelog)) if ref.version <= until => folder.delete(name): Unit
      case _ => ()
    }
  }
}
