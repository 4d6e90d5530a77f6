package io.snapline.snapshot.store

import io.snapline.snapshot.format.HandleMeta

/** Figures of the last load, commit and snapshot of a store, in milliseconds, bytes and counts.
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

/** Keeps a store's figures. Any thread: snapshots end in threads of their own.
  *
  * @param told
  *   gets the version of every snapshot
  */
private[snapshot] final class StoreFigures(told: Long => Unit) {
  @volatile private var now = StateStatistics()

  def current: StateStatistics = now

  def update(change: StateStatistics => StateStatistics): Unit = synchronized { now = change(now) }

  def openedAgain(millis: Long): Unit = update(last => last.copy(loadMs = last.loadMs + millis))

  /** @param replayed
    *   changelogs
    */
  def loaded(millis: Long, fromStorage: Boolean, replayed: Int): Unit =
    update(_.copy(loadMs = millis, loadedFromStorage = fromStorage, replayed = replayed))

  def snapshotMade(meta: HandleMeta, millis: Long): Unit = {
    told(meta.ref.version)
    update(_.copy(
      snapshotVersion = meta.ref.version,
      snapshotMs = millis,
      snapshotFiles = meta.uploadedFiles,
      snapshotBytes = meta.uploadedBytes,
      reusedFiles = meta.files.size - meta.uploadedFiles
    ))
  }
}
