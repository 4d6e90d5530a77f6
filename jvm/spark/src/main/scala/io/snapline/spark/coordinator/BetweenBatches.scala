package io.snapline.spark.coordinator

import io.snapline.checkpoint._
import io.snapline.checkpoint.coordinator.{Action, CheckpointCoordinator}
import io.snapline.snapshot.format.VersionRef
import io.snapline.spark.protocol.{HolderOrder, HoldersReport}

/** Knows the executor that holds the newest version of each store, and asks it for a snapshot when no batch follows
  * (docs/notes/004-checkpoints.md). Guarded by its owner.
  *
  * A version is known by the good end of the task that made it. Where two tasks say so, nobody can tell whose output
  * the sink has, and there is no such checkpoint.
  *
  * @param savepoints
  *   whether user-triggered savepoints may be taken between batches. Where there may be in-flight data, a savepoint
  *   needs a barrier that was aligned for it
  */
private[spark] final class BetweenBatches(savepoints: Boolean) {
  import BetweenBatches._

  private var version = 0L
  private var holders = Map.empty[StoreId, Set[Holder]]
  private var heard = Map.empty[String, Long]
  private var asked: Option[(Long, Map[StoreId, Holder])] = None
  private var pause = FirstPauseMs

  /** A new run has begun: nothing of the old one counts. */
  def begun(): Unit = {
    version = 0
    holders = Map.empty
    asked = None
  }

  /** Reports come late, and twice. */
  def heardOf(report: HoldersReport, run: String, nowMs: Long): Unit = {
    heard += report.executor -> nowMs
    report.stores.filter(_.run == run).foreach(store => held(report.executor, store.store, store.ref))
  }

  private def held(executor: String, store: StoreId, ref: VersionRef): Unit = {
    if (ref.version > version) {
      version = ref.version
      holders = Map.empty
    }
    if (ref.version == version) {
      holders += store -> (holders.getOrElse(store, Set.empty[Holder]) + Holder(executor, ref))
    }
  }

  /** Takes a checkpoint when no batch has followed for a while, and aborts one that waits in vain. */
  def ticked(coordinator: CheckpointCoordinator, nowMs: Long): Seq[Action] = {
    if (coordinator.lagging.exists(_.committedMs.exists(nowMs - _ >= pause)))
      take(coordinator, last = false, nowMs): Unit
    waiting(coordinator.inProgress).find { case (_, _, holder) => isSilent(holder.executor, nowMs) }.toSeq.flatMap {
      case (p, store, holder) =>
        val message = s"Executor ${holder.executor} is not heard of."
        coordinator.declined(Decline(coordinator.query, p.run, p.id, store, FailureReason.Closing, message), nowMs)
    }
  }

  /** Completes user-triggered checkpoints with the snapshots of the newest barrier, if it has a checkpoint already. */
  def repeated(coordinator: CheckpointCoordinator, nowMs: Long): Seq[Action] =
    coordinator.repeated(FirstPauseMs, savepoints, nowMs)

  /** A checkpoint between batches has ended. A batch that began meanwhile makes the pause longer: a query whose batches
    * come at such distances would have no other checkpoint.
    */
  def ended(completed: Boolean): Unit = pause = if (completed) FirstPauseMs else math.min(pause * 2, LongestPauseMs)

  /** Whether each store of the newest batch has one holder, which lives. */
  def canTake(coordinator: CheckpointCoordinator, nowMs: Long): Boolean = coordinator.lagging.exists { barrier =>
    holders.keySet == barrier.expected && version == barrier.batch + 1 &&
    holders.values.forall(all => all.size == 1 && !isSilent(all.head.executor, nowMs))
  }

  /** @param last no batch follows; returns whether there is a checkpoint to wait for */
  def take(coordinator: CheckpointCoordinator, last: Boolean, nowMs: Long): Boolean = {
    val taken = if (canTake(coordinator, nowMs)) coordinator.betweenBatches(last, savepoints, nowMs) else None
    taken.foreach(p => asked = Some((p.id, holders.view.mapValues(_.head).toMap)))
    taken.isDefined
  }

  /** The orders for an executor; they are repeated until it has answered. */
  def orders(executor: String, coordinator: CheckpointCoordinator): Seq[HolderOrder] =
    waiting(coordinator.inProgress).collect {
      case (p, store, holder) if holder.executor == executor =>
        HolderOrder.Take(coordinator.query, p.run, store, holder.ref, p.id)
    }

  private def waiting(inProgress: Seq[PendingCheckpoint]): Seq[(PendingCheckpoint, StoreId, Holder)] = for {
    (id, stores) <- asked.toSeq
    p <- inProgress.filter(p => p.id == id && !p.completing)
    (store, holder) <- stores.toSeq if !p.acked.contains(store)
  } yield (p, store, holder)

  private def isSilent(executor: String, nowMs: Long): Boolean = heard.get(executor).forall(nowMs - _ > SilentMs)
}

private object BetweenBatches {
  final case class Holder(executor: String, ref: VersionRef)

  private val SilentMs = 10000L
  private[spark] val FirstPauseMs = 500L
  private[spark] val LongestPauseMs = 60000L
}
