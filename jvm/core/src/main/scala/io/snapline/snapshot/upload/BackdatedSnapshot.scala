package io.snapline.snapshot.upload

import io.snapline.snapshot.format.{Origin, StateFiles, StoreFolder, UidClock, VersionRef}
import io.snapline.storage.CheckpointStorage

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
