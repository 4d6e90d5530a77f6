package io.snapline.checkpoint.coordinator

import io.snapline.checkpoint._
import io.snapline.checkpoint.history.CheckpointHistory

/** Tells for which checkpoints the answer of a store counts, and what becomes of the files of one that counts for none.
  *
  * A part of the coordinator, which owns all that this works on.
  */
private[checkpoint] final class Acknowledgements(
    query: String,
    run: CurrentRun,
    barriers: Barriers,
    pending: PendingCheckpoints,
    completed: CompletedCheckpoints,
    newest: NewestHandles,
    files: SharedFileRegistry,
    history: CheckpointHistory
) {
  private var drops = Dropped()

  def dropped: Dropped = drops

  def mayReuse(ack: Acknowledgement): Boolean =
    run.isRunning && ack.query == query && run.id.contains(ack.run) && newest.isBase(ack.store, ack.handle.ref)

  def take(ack: Acknowledgement, nowMs: Long): Seq[Action] =
    if (isForeign(ack.query)) foreign()
    else if (!run.id.contains(ack.run)) {
      drops = drops.copy(stale = drops.stale + 1)
      free(ack)
    } else if (ack.checkpoint > run.lastCheckpoint) foreign()
    else {
      pending.mayShareMerged(ack.checkpoint)
        .foreach(p => files.hold(Holder.OfCheckpoint(p.id), ack.handle.mergedFile))
      val waiting = pending.awaiting(ack)
      if (waiting.nonEmpty) accept(ack, waiting, nowMs) else notAwaited(ack)
    }

  /** The checkpoint that must be aborted; None: the decline counts for none. */
  def take(decline: Decline): Option[PendingCheckpoint] = {
    val awaited = pending.get(decline.checkpoint)
    val counted = dropping(decline, awaited)
    counted.foreach(drops = _)
    awaited.filter(_ => counted.isEmpty)
  }

  private def dropping(decline: Decline, awaited: Option[PendingCheckpoint]): Option[Dropped] =
    if (isForeign(decline.query)) Some(drops.copy(foreign = drops.foreign + 1))
    else if (!run.id.contains(decline.run)) Some(drops.copy(stale = drops.stale + 1))
    else if (decline.checkpoint > run.lastCheckpoint || awaited.exists(p => !p.expected(decline.store))) {
      Some(drops.copy(foreign = drops.foreign + 1))
    } else if (awaited.isEmpty) Some(drops.copy(late = drops.late + 1))
    else if (awaited.exists(p => p.completing || p.acked.contains(decline.store))) {
      Some(drops.copy(duplicate = drops.duplicate + 1))
    } else None

  /** Before anything is known of the folder nothing may be taken for unnamed. */
  private def isForeign(from: String): Boolean = from != query || run.id.isEmpty

  private def foreign(): Seq[Action] = {
    drops = drops.copy(foreign = drops.foreign + 1)
    Nil
  }

  private def accept(ack: Acknowledgement, waiting: Seq[PendingCheckpoint], nowMs: Long): Seq[Action] = {
    val accepted = waiting.map { p =>
      val acked = pending.put(p.copy(acked = p.acked + (ack.store -> Acked(ack.handle, nowMs))))
      files.hold(Holder.OfCheckpoint(p.id), ack.handle.names(ack.store))
      history.progressed(acked)
      acked
    }
    newest.acknowledged(ack.store, ack.checkpoint, ack.handle)
    prune(Set(ack.store)) ++ accepted.flatMap(pending.completeIfReady(_, barriers.committed))
  }

  private def notAwaited(ack: Acknowledgement): Seq[Action] = pending.get(ack.checkpoint) match {
    case Some(p) if p.acked.contains(ack.store) => again(ack, p.acked(ack.store).handle)
    case Some(_) =>
      foreign()
      superfluous(ack)
    case None =>
      completed.get(ack.checkpoint).flatMap(_.handles.get(ack.store)) match {
        case Some(handle) => again(ack, handle)
        case None =>
          drops = drops.copy(late = drops.late + 1)
          superfluous(ack)
      }
  }

  /** The same message again, or that of a second attempt of the task: the first one counts. */
  private def again(ack: Acknowledgement, first: StateHandle): Seq[Action] = {
    drops = drops.copy(duplicate = drops.duplicate + 1)
    if (first.ref == ack.handle.ref) Nil else superfluous(ack)
  }

  /** No checkpoint will name this snapshot, but its store may build the next one on it if it is the newest. */
  private def superfluous(ack: Acknowledgement): Seq[Action] = {
    if (run.isRunning) newest.acknowledged(ack.store, ack.checkpoint, ack.handle)
    prune(Set(ack.store)) ++ free(ack)
  }

  private def free(ack: Acknowledgement): Seq[Action] = {
    val released = new Released(files)
    released.add(ack.checkpoint, ack.handle.names(ack.store))
    released.deletions
  }

  /** Deletes the files that no next snapshot of these stores can build on: they have answered, or nobody waits for
    * them.
    */
  def prune(stores: Set[StoreId]): Seq[Action] = {
    val released = new Released(files)
    stores.foreach { store =>
      newest.prune(store, pending.oldestWithout(store)).foreach { case (id, freed) => released.add(id, freed) }
    }
    released.deletions
  }
}
