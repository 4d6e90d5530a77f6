package io.snapline.snapshot.store

/** What the last load, commit and snapshot of a store took. Milliseconds, bytes, counts.
  *
  * @param snapshotVersion
  *   -1: none yet
  * @param replayed
  *   changelogs applied by the last load
  */
final case class StateStatistics(
    loadMs: Long = 0,
    loadedFromStorage: Boolean = false,
    replayed: Int = 0,
    commitMs: Long = 0,
    changelogMs: Long = 0,
    changelogBytes: Long = 0,
    snapshotVersion: Long = -1,
    snapshotMs: Long = 0,
    snapshotFiles: Int = 0,
    snapshotBytes: Long = 0,
    reusedFiles: Int = 0
)
