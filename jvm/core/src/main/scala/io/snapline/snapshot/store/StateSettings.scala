package io.snapline.snapshot.store

import java.util.concurrent.TimeUnit

import io.snapline.snapshot.format.{Origin, UidClock}
import io.snapline.snapshot.upload.NearFolder
import io.snapline.storage.CheckpointStorage

/** How the versions of a store are kept.
  *
  * @param compress
  *   whether changelogs are compressed
  * @param retain
  *   versions kept, the newest included
  * @param minStale
  *   stale versions that make clean-up worth a listing
  * @param maxDeletes
  *   versions one clean-up removes at most; not positive: no limit
  * @param changelog
  *   whether a version is a changelog, with a snapshot now and then; without, each version that has to be in storage is
  *   a snapshot
  * @param incremental
  *   whether a snapshot names table files of earlier ones instead of uploading them again
  * @param inlineThreshold
  *   table files at most so long are put into the handle
  * @param localBackup
  *   whether the executor keeps a copy of the newest checkpoint
  * @param uploadTimeoutMs
  *   how long an async phase may take
  */
final case class StateSettings(
    compress: Boolean = true,
    retain: Int = 100,
    minStale: Long = 30,
    maxDeletes: Int = -1,
    policy: SnapshotPolicy = SnapshotPolicy(),
    changelog: Boolean = true,
    incremental: Boolean = true,
    inlineThreshold: Int = 0,
    localBackup: Boolean = true,
    uploadTimeoutMs: Long = TimeUnit.MINUTES.toMillis(10)
)

/** When a version gets a snapshot.
  *
  * @param minChangelogs
  *   fewest changelogs between two snapshots
  * @param maxChangelogs
  *   most changelogs between two snapshots
  * @param sizeRatio
  *   changelog bytes since the last snapshot, relative to its size, that make one due
  * @param smallState
  *   bytes below which the ratio is not asked
  */
final case class SnapshotPolicy(
    minChangelogs: Int = 10,
    maxChangelogs: Int = 100,
    sizeRatio: Double = 0.5,
    smallState: Long = 4L << 20
) {
  def due(changelogs: Int, changelogBytes: Long, stateBytes: Long): Boolean =
    changelogs >= minChangelogs && (
      changelogs >= math.max(minChangelogs, maxChangelogs) ||
        stateBytes + changelogBytes < smallState ||
        changelogBytes >= sizeRatio * stateBytes
    )
}

/** One store: its place, and how its versions are kept there.
  *
  * @param storage
  *   the store's folder in the checkpoint
  * @param origin
  *   written into every file
  * @param near
  *   the executor's own folder, for changelogs that storage need not have
  * @param clock
  *   observes every version seen, so that later ones are told apart from them
  */
final case class StoreContext(
    storage: CheckpointStorage,
    settings: StateSettings,
    origin: Origin,
    near: Option[NearFolder] = None,
    clock: UidClock = new UidClock
)
