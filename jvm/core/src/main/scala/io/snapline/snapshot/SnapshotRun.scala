package io.snapline.snapshot

import java.util.concurrent.TimeUnit

import org.slf4j.LoggerFactory

import io.snapline.state.rocksdb.RocksDbBackend
import io.snapline.storage.CheckpointStorage

/** One snapshot of the version just committed: making this object is the sync phase, `run` the async phase.
  *
  * The maker has claimed the held state's snapshot; `run` gives it back. Owns the local files until they are uploaded.
  */
private[snapshot] final class SnapshotRun(
    storage: CheckpointStorage,
    clock: UidClock,
    settings: StateSettings,
    origin: Origin,
    held: HeldState,
    ref: VersionRef,
    note: (HandleMeta, Long) => Unit
) {
  private val log = LoggerFactory.getLogger(classOf[SnapshotRun])
  private val pending = held.backend.snapshot()
  private val families = held.backend.families.map(f => FamilyState(f.descriptor, f.keyCount))
  private val covered = (held.distance, held.changelogBytes)
  private val begun = System.nanoTime()

  /** @param rethrow
    *   false: a failure is logged, and a later commit tries again
    */
  def run(rethrow: Boolean): Unit =
    try {
      val local = pending.materialize()
      try {
        val deadline = begun + TimeUnit.MILLISECONDS.toNanos(settings.uploadTimeoutMs)
        val meta = new SnapshotUpload(storage, clock, held.tables, deadline)
          .run(ref, local, held.backend.kind, families, System.currentTimeMillis(), origin)
        held.snapshotMade(meta, covered)
        note(meta, TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun))
      } finally RocksDbBackend.deleteFolder(local.folder)
    } catch {
      case e: Exception =>
        if (rethrow) throw e
        log.warn(
          s"The snapshot of version $ref of ${storage.location} failed; changelogs keep the state safe, and a later commit tries again.",
          e
        )
    } finally held.snapshotEnded()
}
