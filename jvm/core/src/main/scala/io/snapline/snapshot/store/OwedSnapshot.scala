package io.snapline.snapshot.store

import scala.util.control.NonFatal

import io.snapline.snapshot.merged.StoredHandle
import io.snapline.snapshot.upload.{SnapshotFigures, SnapshotListener, SnapshotPool}

/** The snapshot that a store owes a checkpoint under AT_LEAST_ONCE: of the version of its barrier or of any later one.
  * It is made when a thread of the pool is free and no task uses the store; where a task does, at the end of that task.
  * So none waits for another, and one that comes late counts for all checkpoints up to then.
  *
  * The user of the store calls `begin` before its first change, and `committed` or `end` after its last. Any thread.
  */
private[snapshot] final class OwedSnapshot(pool: SnapshotPool) {
  import OwedSnapshot.Debt

  private var inUse = false
  private var queued = false
  private var owed: Option[Debt] = None

  /** A thread was free while a task used the store. */
  private var isAtCommit = false

  /** The newest checkpoint that a snapshot was begun for. */
  private var begun: Option[Long] = None

  def begin(): Unit = synchronized { inUse = true }

  /** Without a new version. */
  def end(): Unit = synchronized {
    inUse = false
    if (isAtCommit) {
      isAtCommit = false
      enqueue()
    }
  }

  /** Another state is held, or none: what was begun may never be acknowledged. */
  def forget(): Unit = synchronized {
    owed = None
    begun = None
    isAtCommit = false
  }

  /** @param debt
    *   None: nothing is owed, or no longer
    */
  def committed(debt: Option[Debt]): Unit = synchronized {
    inUse = false
    owed = debt.filter(of => begun.forall(_ < of.checkpoint))
    if (owed.isEmpty) isAtCommit = false
    else if (isAtCommit) {
      isAtCommit = false
      val upload = take()
      pool.submit(() => upload())
    } else enqueue()
  }

  private def enqueue(): Unit = if (!queued) {
    queued = true
    pool.submit(() => atLast())
  }

  private def atLast(): Unit = {
    val upload = synchronized {
      queued = false
      isAtCommit = inUse && owed.isDefined
      if (owed.isDefined && !inUse) take() else () => ()
    }
    upload()
  }

  /** The sync phase; returns the async phase. */
  private def take(): () => Unit = {
    val debt = owed.get
    owed = None
    begun = Some(debt.checkpoint)
    val listener = new SnapshotListener {
      override def made(handle: StoredHandle, figures: SnapshotFigures, mayReuse: () => Unit): Unit =
        debt.listener.made(handle, figures, mayReuse)

      // An older checkpoint may still wait for this store.
      override def failed(reason: Exception): Unit = {
        OwedSnapshot.this.synchronized { begun = begun.filterNot(_ == debt.checkpoint) }
        debt.listener.failed(reason)
      }
    }
    try {
      val run = debt.snapshot()
      () => run.acknowledge(listener, syncMs = 0): Unit
    } catch {
      case NonFatal(e) =>
        listener.failed(e match { case known: Exception => known; case other => new RuntimeException(other) })
        () => ()
    }
  }
}

private[snapshot] object OwedSnapshot {

  /** @param listener
    *   the listener of the task that made the version held now
    * @param snapshot
    *   begins a snapshot of that version
    */
  final case class Debt(checkpoint: Long, listener: SnapshotListener, snapshot: () => SnapshotRun)
}
