package io.snapline.snapshot.store

import java.util.concurrent.TimeUnit

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.snapline.snapshot.format._
import io.snapline.snapshot.merged.StoredHandle
import io.snapline.snapshot.upload.{HandleDestination, LocalBackup, SnapshotFigures, SnapshotListener, SnapshotUpload}
import io.snapline.state.{LocalFolder, LocalSnapshot, PendingSnapshot}

/** One snapshot of the version just committed: `SnapshotRun.prepare` is its sync phase, `upload` or `acknowledge` its
  * async phase.
  *
  * Owns the local files until the handle is durable. `upload` wants the held state's snapshot claimed, and gives it
  * back.
  *
  * @param made
  *   the result of the sync phase
  * @param note
  *   told the handle and the milliseconds since the sync phase began
  * @param destination
  *   the handle's destination
  */
private[snapshot] final class SnapshotRun private (
    store: StoreContext,
    held: HeldState,
    ref: VersionRef,
    made: SnapshotRun.Prepared,
    note: (HandleMeta, Long) => Unit,
    destination: HandleDestination,
    backup: Option[LocalBackup]
) {
  import store.storage

  private val log = LoggerFactory.getLogger(classOf[SnapshotRun])

  /** @param rethrow
    *   false: a failure is logged, and a later commit tries again
    */
  def upload(rethrow: Boolean): Unit = {
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
        to.made(handle, SnapshotFigures(syncMs, millis, made.inFlightBytes), () => held.reuse(handle.meta))
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
        try made.pending.materialize().inline(store.settings.inlineThreshold)
        finally if (made.ofCheckpoint) held.snapshotTaken()
      local = Some(files)
      destination.put(write(files), files)(end)
    } catch {
      case e: Exception => end(Left(e))
      case e: Throwable =>
        end(Left(new RuntimeException(e)))
        throw e
    } finally made.part.close()
  }

  private def write(local: LocalSnapshot): HandleMeta = {
    val deadline = made.begun + TimeUnit.MILLISECONDS.toNanos(store.settings.uploadTimeoutMs)
    val known = if (store.settings.incremental) held.tables else Map.empty[String, TableFile]
    new SnapshotUpload(storage, store.clock, known, deadline)
      .run(ref, local, held.backend.kind, made.families, System.currentTimeMillis(), store.origin)
  }

  private def keep(handle: StoredHandle, local: LocalSnapshot): StoredHandle = {
    backup.foreach(_.keep(handle.meta, local))
    held.snapshotMade(handle.meta, made.mark, made.ofCheckpoint)
    note(handle.meta, millis)
    handle
  }

  private def trying(body: => StoredHandle): Either[Exception, StoredHandle] =
    try Right(body)
    catch { case e: Exception => Left(e) }

  private def millis: Long = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - made.begun)
}

private[snapshot] object SnapshotRun {

  /** The results of the sync phase.
    *
    * @param ofCheckpoint
    *   whether the snapshot is made although another state is held by then. A coordinator has to say whether the next
    *   one may name its files.
    * @param begun
    *   System.nanoTime
    * @param part
    *   this snapshot's share of the destination, which waits until it is closed
    */
  private final case class Prepared(
      pending: PendingSnapshot,
      ofCheckpoint: Boolean,
      families: Seq[FamilyState],
      mark: Mark,
      inFlightBytes: Long,
      begun: Long,
      part: AutoCloseable
  )

  /** The sync phase, on the thread that holds the backend. */
  def prepare(
      store: StoreContext,
      held: HeldState,
      ref: VersionRef,
      note: (HandleMeta, Long) => Unit,
      destination: HandleDestination,
      ofCheckpoint: Boolean,
      backup: Option[LocalBackup]
  ): SnapshotRun = {
    val pending = held.backend.snapshot()
    val families = held.backend.families.map(f => FamilyState(f.descriptor, f.keyCount))
    val begun = System.nanoTime()
    val part = destination.expect(ref.version)
    val made = Prepared(pending, ofCheckpoint, families, held.mark, held.inFlightBytes, begun, part)
    // Nothing fails from here to its end, so that each that was begun is taken.
    if (ofCheckpoint) held.snapshotBegun()
    new SnapshotRun(store, held, ref, made, note, destination, backup)
  }
}
