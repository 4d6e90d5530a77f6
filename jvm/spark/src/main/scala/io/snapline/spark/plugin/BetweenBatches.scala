package io.snapline.spark.plugin

import io.snapline.checkpoint._
import io.snapline.snapshot.VersionRef

/** Which executor holds the newest version of each store, and what it is asked for when no batch follows (docs/notes/004-checkpoints.md). Guarded by its owner.
  *
  * A version is known by the good end of the task that made it. Where two say so, nobody can tell whose output the sink has, and there is no such checkpoint.
  */
private[plugin] final class BetweenBatches {
  import BetweenBatches._

  private var version = 0L
  private var holders = Map.empty[StoreId, Set[Holder]]
  private var heard = Map.empty[String, Long]
  private var asked: Option[(Long, Map[StoreId, Holder])] = None
  private var pause = FirstPauseMs

  /** Of another run nothing counts. */
  def begun(): Unit = {
    version = 0
    holders = Map.empty
    asked = None
  }

  def heardOf(executor: String, nowMs: Long): Unit = heard += executor -> nowMs

  /** Reports come late, and twice. */
  def held(executor: String, store: StoreId, ref: VersionRef): Unit = {
    if (ref.version > version) {
      version = ref.version
      holders = Map.empty
    }
    if (ref.version == version) {
      holders += store -> (holders.getOrElse(store, Set.empty[Holder]) + Holder(executor, ref))
    }
  }

  /** How long no batch has to have followed. A batch that begins meanwhile makes it longer: a query whose batches come at such distances would have no other checkpoint. */
  def pauseMs: Long = pause

  /** Of one that was taken between two batches. */
  def ended(completed: Boolean): Unit = pause = if (completed) FirstPauseMs else math.min(pause * 2, LongestPauseMs)

  /** Whether each store of the barrier has one holder, which lives. */
  def canTake(barrier: Barrier, nowMs: Long): Boolean =
    holders.keySet == barrier.expected && version == barrier.batch + 1 &&
      holders.values.forall(all => all.size == 1 && !isSilent(all.head.executor, nowMs))

  /** `canTake` of its barrier. */
  def take(p: PendingCheckpoint): Unit = asked = Some((p.id, holders.view.mapValues(_.head).toMap))

  /** For this executor, until it has answered. */
  def orders(executor: String, query: String, inProgress: Seq[PendingCheckpoint]): Seq[HolderOrder] =
    waiting(inProgress).collect {
      case (p, store, holder) if holder.executor == executor =>
        HolderOrder.Take(query, p.run, store, holder.ref, p.id)
    }

  /** Stores whose executor is not heard of any more, and the checkpoint that waits for them. */
  def gone(inProgress: Seq[PendingCheckpoint], nowMs: Long): Option[(PendingCheckpoint, StoreId, String)] =
    waiting(inProgress).collectFirst {
      case (p, store, holder) if isSilent(holder.executor, nowMs) => (p, store, holder.executor)
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
  private[plugin] val FirstPauseMs = 500L
  private[plugin] val LongestPauseMs = 60000L
}
