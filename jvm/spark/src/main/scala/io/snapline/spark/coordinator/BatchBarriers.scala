package io.snapline.spark.coordinator

import java.util.UUID

import io.snapline.checkpoint.{CheckpointingMode, StoreId}
import io.snapline.checkpoint.coordinator.CheckpointCoordinator
import io.snapline.spark.protocol.TaskBarrier

/** Says to the tasks of a planned batch what its end is: a barrier with a checkpoint, one without, or a replay's.
  * Guarded by its owner.
  *
  * @param inMemory
  *   state is in the driver's memory, and no checkpoint could name it
  * @param requests
  *   what users have asked for
  */
private[coordinator] final class BatchBarriers(
    spec: CheckpointSpec,
    inMemory: Boolean,
    alignments: BatchAlignment,
    base: BaseCheckpoint,
    requests: RequestBoard
) {

  /** The barrier of a batch that is run again to rebuild state. */
  def replayed(batch: PlannedBatch): TaskBarrier = TaskBarrier(
    batch.run,
    replays = true,
    interval = false,
    covered = None,
    checkpoint = None,
    owed = None,
    mayBeAhead = Set.empty,
    awaited = None,
    base.restoreFrom,
    merged = false,
    alignments.of(batch.batch, savepoint = false)
  )

  /** The barrier of the next batch. Triggers a checkpoint at its end if one is due.
    *
    * @param merged
    *   whether handles of earlier runs may lie in merged files
    */
  def next(batch: PlannedBatch, coordinator: CheckpointCoordinator, merged: Boolean, nowMs: Long): TaskBarrier = {
    val isBarrier = !inMemory && !alignments.isUnfinished(batch.batch)
    val ahead = batch.operators.filter(mayBeAhead)
    val checkpoint =
      if (isBarrier) coordinator.batchPlanned(batch.batch, stores(batch.operators), nowMs, stores(ahead)) else None
    val pending = checkpoint.flatMap(id => coordinator.inProgress.find(_.id == id))
    val savepoint = pending.exists(_.properties.isSavepoint)
    TaskBarrier(
      batch.run,
      replays = false,
      interval = !spec.durableBatches,
      covered = Option.when(spec.uploadsChangelogs)(coordinator.retained.lastOption.fold(0L)(_.batch + 1)),
      checkpoint,
      owed = coordinator.owed.filter(_ => isBarrier),
      mayBeAhead = if (savepoint) Set.empty else ahead.map(_.id).toSet,
      awaited = coordinator.inProgress.map(_.batch + 1).minOption,
      base.ifRetained(coordinator),
      merged,
      alignments.of(batch.batch, savepoint && !pending.exists(_.requests.forall(requests.keepsRows)))
    )
  }

  private def stores(operators: Seq[PlannedOperator]): Set[StoreId] = operators.flatMap(_.storeIds).toSet

  /** An operator that another one makes state of must not be ahead: the second one would miss rows that the first
    * passes over when they come again. Nor must a join: its stores hold one state together, and a row that comes again
    * no longer finds the one that it matched.
    */
  private def mayBeAhead(operator: PlannedOperator): Boolean =
    spec.settings.mode == CheckpointingMode.AtLeastOnce && !operator.feedsState && !operator.isJoin
}

/** A stateful operator of a micro-batch's plan. Each of its partitions has each of its stores.
  *
  * @param feedsState
  *   whether another stateful operator gets its rows
  */
final case class PlannedOperator(
    id: Long,
    name: String,
    parallelism: Int,
    stores: Seq[String],
    feedsState: Boolean = false
) {

  /** By Spark's name of a join of two streams. */
  def isJoin: Boolean = name == "symmetricHashJoin"

  def storeIds: Seq[StoreId] =
    for (partition <- 0 until parallelism; store <- stores) yield StoreId(id, partition, store)
}

/** A micro-batch that is about to run.
  *
  * @param stateFolder
  *   `<checkpoint>/state`
  */
final case class PlannedBatch(stateFolder: String, run: UUID, batch: Long, operators: Seq[PlannedOperator])
