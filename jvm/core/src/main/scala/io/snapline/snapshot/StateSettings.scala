package io.snapline.snapshot

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
  * @param incremental
  *   whether a snapshot names table files of an earlier one instead of writing its own
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
    incremental: Boolean = true,
    localBackup: Boolean = true,
    uploadTimeoutMs: Long = TimeUnit.MINUTES.toMillis(10)
)
