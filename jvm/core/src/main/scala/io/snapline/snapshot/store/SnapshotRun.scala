package io.snapline.snapshot.store

import java.util.concurrent.TimeUnit

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.snapline.snapshot.format._
import io.snapline.snapshot.merged.StoredHandle
import io.snapline.snapshot.upload.{HandleDestination, LocalBackup, SnapshotFigures, SnapshotListener, SnapshotUpload}
import io.snapline.state.{LocalFolder, LocalSnapshot}
import io.snapline.storage.CheckpointStorage

/** One snapshot of the version just committed: making this object is the sync phase, `run` and `acknowledge` are the
  * async phase.
  *
  * Owns the local files until the handle is durable. `run` wants the held state's snapshot claimed, and gives it back.
  *
  * @param destination
  *   where the handle goes
  * @param outlives
  *   whether it is made although another state is held by then
  */
private[snapshot] final class SnapshotRun(
    storage: CheckpointStorage,
    clock: UidClock,
    settings: StateSettings,
    origin: Origin,
    held: HeldState,
    ref: VersionRef,
    note: (HandleMeta, Long) => Unit,
    destination: HandleDestination,
    outlives: Boolean,
    backup: Option[LocalBackup] = None
) {
  private val log = LoggerFactory.getLogger(classOf[SnapshotRun])
  private val pending = held.backend.snapshot()
  if (outlives) held.snapshotBegun()
  private val families = held.backend.families.map(f => FamilyState(f.descriptor, f.keyCount))
  private val mark = held.mark
  private val inFlightBytes = held.inFlightBytes
  private val begun = System.nanoTime()
  private val part = destination.expect(ref.version)

  /** @param rethrow
    *   false: a failure is logged, and a later commit tries again
    */
  def run(rethrow: Boolean): Unit = {
    var failure: Option[Exception] = None
    make {
      case Right(handle) => held.reuse(handle.meta)
      case Left(e) => failure = Some(e)
    }
    failure.foreach { e =>
      if (rethrow) throw e
      log.warn(
        s"The snapshot of version $ref of ${storage.location} failed; changelogs keep the state safe, and a later commit tries again.",
        e
      )
    }
  }

  /** For a checkpoint: waits its turn, and says how it went, maybe after it has returned. Returns what has gone wrong
    * by then.
    */
  def acknowledge(to: SnapshotListener, syncMs: Long): Option[Exception] = {
    held.claimSnapshotWaiting()
    var failure: Option[Exception] = None
    make {
      case Right(handle) =>
        to.made(handle, SnapshotFigures(syncMs, millis, inFlightBytes), () => held.reuse(handle.meta))
      case Left(e) =>
        failure = Some(e)
        log.warn(s"The snapshot of version $ref of ${storage.location} for a checkpoint failed.", e)
        to.failed(e)
    }
    failure
  }

  /** Calls `ended` once, now or later, from any thread, and gives the claim back. */
  private def make(ended: Either[Exception, StoredHandle] => Unit): Unit = {
    var local: Option[LocalSnapshot] = None
    def end(outcome: Either[Exception, StoredHandle]): Unit =
      try ended(outcome.flatMap(handle => trying(keep(handle, local.get))))
      catch { case NonFatal(e) => log.warn(s"What follows the snapshot $ref of ${storage.location} failed.", e) }
      finally {
        local.foreach(files => LocalFolder.delete(files.folder))
        held.snapshotEnded()
      }
    try {
      val files =
        try pending.materialize().inline(settings.inlineThreshold)
        finally if (outlives) held.snapshotTaken()
      local = Some(files)
      destination.put(upload(files), files)(end)
    } catch {
      case e: Exception => end(Left(e))
      case e: Throwable =>
        end(Left(new RuntimeException(e)))
        throw e
    } finally part.close()
  }

  private def upload(local: LocalSnapshot): HandleMeta = {
    val deadline = begun + TimeUnit.MILLISECONDS.toNanos(settings.uploadTimeoutMs)
    val known = if (settings.incremental) held.tables else Map.empty[String, TableFile]
    new SnapshotUpload(storage, clock, known, deadline)
      .run(ref, local, held.backend.kind, families, System.currentTimeMillis(), origin)
  }

  private def keep(handle: StoredHandle, local: LocalSnapshot): StoredHandle = {
    backup.foreach(_.keep(handle.meta, local))
    held.snapshotMade(handle.meta, mark)
    note(handle.meta, millis)
    handle
  }

  private def trying(body: => StoredHandle): Either[Exception, StoredHandle] =
    try Right(body)
    catch { case e: Exception => Left(e) }

  private def millis: Long = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun)
}
