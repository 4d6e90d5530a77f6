package io.snapline.snapshot.store

import java.util.concurrent.TimeUnit

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
