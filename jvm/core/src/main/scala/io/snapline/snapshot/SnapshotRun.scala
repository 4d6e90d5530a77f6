package io.snapline.snapshot

import java.util.concurrent.TimeUnit

import org.slf4j.LoggerFactory

import io.snapline.state.LocalFolder
import io.snapline.storage.CheckpointStorage

/** One snapshot of the version just committed: making this object is the sync phase, `run` and `acknowledge` are the async phase.
  *
  * Owns the local files until they are uploaded. `run` wants the held state's snapshot claimed, and gives it back.
  */
private[snapshot] final class SnapshotRun(
    storage: CheckpointStorage,
    clock: UidClock,
    settings: StateSettings,
    origin: Origin,
    held: HeldState,
    ref: VersionRef,
    note: (HandleMeta, Long) => Unit,
    backup: Option[LocalBackup] = None
) {
  private val log = LoggerFactory.getLogger(classOf[SnapshotRun])
  private val pending = held.backend.snapshot()
  private val families = held.backend.families.map(f => FamilyState(f.descriptor, f.keyCount))
  private val mark = held.mark
  private val begun = System.nanoTime()

  /** @param rethrow
    *   false: a failure is logged, and a later commit tries again
    */
  def run(rethrow: Boolean): Unit =
    try held.reuse(upload()._1)
    catch {
      case e: Exception =>
        if (rethrow) throw e
        log.warn(
          s"The snapshot of version $ref of ${storage.location} failed; changelogs keep the state safe, and a later commit tries again.",
          e
        )
    } finally held.snapshotEnded()

  /** For a checkpoint: waits its turn, and says how it went. Never throws. */
  def acknowledge(to: SnapshotListener, syncMs: Long): Unit = {
    held.claimSnapshotWaiting()
    try
      try {
        val (meta, handleBytes) = upload()
        to.made(meta, handleBytes, syncMs, millis, () => held.reuse(meta))
      } finally held.snapshotEnded()
    catch {
      case e: Exception =>
        log.warn(s"The snapshot of version $ref of ${storage.location} for a checkpoint failed.", e)
        to.failed(e)
    }
  }

  private def upload(): (HandleMeta, Long) = {
    val local = pending.materialize()
    try {
      val deadline = begun + TimeUnit.MILLISECONDS.toNanos(settings.uploadTimeoutMs)
      val (meta, handleBytes) =
        new SnapshotUpload(storage, clock, if (settings.incremental) held.tables else Map.empty, deadline)
          .run(ref, local, held.backend.kind, families, System.currentTimeMillis(), origin)
      backup.foreach(_.keep(meta, local))
      held.snapshotMade(meta, mark)
      note(meta, millis)
      (meta, handleBytes)
    } finally LocalFolder.delete(local.folder)
  }

  private def millis: Long = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun)
}
