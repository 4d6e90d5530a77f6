package io.snapline.spark.operator.channel

import org.apache.hadoop.fs.Path
import org.apache.spark.TaskContext
import org.apache.spark.sql.execution.streaming.state.StateStore
import org.apache.spark.sql.execution.streaming.state.snapline.StateInternals
import org.slf4j.LoggerFactory

import io.snapline.checkpoint.CoordinatorSettings
import io.snapline.error.StateTooLarge
import io.snapline.spark.protocol.{Alignment, ChannelLimits, CheckpointFolder, FirstRun, FirstRuns, TaskBarrier}
import io.snapline.spark.provider.SnaplineStateStore

/** A task's way to cut its micro-batch, where there is no time for rows, as the driver has decided. */
object TaskCuts {
  private val log = LoggerFactory.getLogger(getClass)

  /** As the Python package names them. */
  private val Limits = s"${CoordinatorSettings.Prefix}unaligned."

  /** @param waiting
    *   what the task begins with
    * @param batchTime
    *   ms since 1970
    * @param stopsWithin
    *   whether the function can be stopped between two rows of a key
    */
  def of(
      store: StateStore,
      waiting: ChannelState,
      batch: Long,
      batchTime: Long,
      stopsWithin: Boolean,
      task: TaskContext
  ): Cuts = store match {
    case own: SnaplineStateStore =>
      val run = StateInternals.runId(own.configuration)
      TaskBarrier.ofTask(run).fold[Alignment](Alignment.Aligned)(_.alignment) match {
        case Alignment.Aligned => Cuts.Never
        case Alignment.Repeated(committed) => Cuts.repeated(records(own, batch), committed, batch)
        case Alignment.Unaligned(budgetMs, limits) =>
          // Every attempt asks: one of them is the first to get so far, and no run after it may be cut elsewhere.
          val asked = FirstRun(run.toString, own.id.operatorId, batch, own.id.partitionId, task.taskAttemptId())
          val isFirst = FirstRuns.isFirst(asked)
          if (!isFirst || task.attemptNumber() > 0 || task.stageAttemptNumber() > 0) {
            Cuts.repeated(records(own, batch), committed = false, batch)
          } else if (isFull(waiting, own, limits)) Cuts.Never
          else {
            new Cuts.Timed(new TimeBudget(timeLeft(budgetMs, batchTime), stopsWithin), records(own, batch))
          }
      }
    case _ => Cuts.Never
  }

  /** The time is that of the micro-batch, and runs since it was planned. A task that has to wait for a core, or whose
    * clock is not the driver's, has half of it.
    */
  private def timeLeft(budgetMs: Long, batchTime: Long): Long = {
    val spent = System.currentTimeMillis() - batchTime
    budgetMs - math.max(0L, math.min(spent, budgetMs / 2))
  }

  private def records(store: SnaplineStateStore, batch: Long): CutRecords = {
    val root = new Path(store.id.checkpointRootLocation).getParent
    val storage = CheckpointFolder.cutStorage(root, store.configuration)
    new CutRecords(storage, batch, store.id.operatorId, store.id.partitionId)
  }

  /** Rows that wait are read by every batch that does not get to them, and nothing else slows the source down. */
  private def isFull(channel: ChannelState, store: SnaplineStateStore, limits: ChannelLimits): Boolean = {
    val passed = Seq(
      (channel.bytes >= limits.bytes) -> s"${channel.bytes} bytes (limit ${limits.bytes})",
      (channel.rowCount >= limits.rows) -> s"${channel.rowCount} rows (limit ${limits.rows})",
      (channel.segments.size >= limits.batches) -> s"rows of ${channel.segments.size} batches (limit ${limits.batches})"
    ).collect { case (true, text) => text }
    if (passed.nonEmpty) {
      val what = s"The channel state of ${store.id} has ${passed.mkString(", ")}."
      if (limits.fails) {
        throw new StateTooLarge(
          what,
          "give the query more partitions or cores, let it read less in a batch, or raise the limit " +
            s"(${Limits}max-channel-bytes, …max-channel-rows, …max-batches-behind)."
        )
      }
      log.warn(s"$what All of it is processed in this batch, however long it takes.")
    }
    passed.nonEmpty
  }
}
