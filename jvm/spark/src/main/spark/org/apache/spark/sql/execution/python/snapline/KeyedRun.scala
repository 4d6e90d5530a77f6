package org.apache.spark.sql.execution.python.snapline

import scala.collection.mutable

import io.snapline.error.InternalError
import io.snapline.spark.operator.channel.{Cuts, TaskCuts}
import io.snapline.spark.operator.frames.WorkerLink
import io.snapline.spark.operator.state.{ChangeCounts, EntrySum, KeyedFamilies, KeyedSpec, StateMigration}
import io.snapline.spark.operator.task.{BroadcastRows, EarliestTime, LateRule, TaskSetup, TaskRuntime, TaskPlace}
import io.snapline.spark.protocol.{BroadcastChecks, BroadcastReport}
import io.snapline.spark.settings.WorkerLimits

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.streaming.state.StateStore
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.TimeMode
import org.apache.spark.util.{CompletionIterator, LongAccumulator}

/** The work of the tasks of one micro-batch.
  *
  * @param artifact
  *   the artifacts whose files the Python workers see
  * @param earliest
  *   gets the earliest timer in processing time that is still to fire
  * @param waiting
  *   gets the number of batches that have rows or timers that wait
  * @param initialSetup
  *   the setup for the rows of the initial state, in the first micro-batch of an operator that has one
  */
private[snapline] final class KeyedRun(
    operator: KeyedOperator,
    setup: TaskSetup,
    initialSetup: Option[TaskSetup],
    artifact: Option[String],
    earliest: EarliestTime,
    waiting: LongAccumulator
) extends Serializable {
  private val run = operator.getStateInfo.queryRunId.toString
  private val operatorId = operator.getStateInfo.operatorId

  /** Runs one partition; `finish` ends with its store when the last row has been taken. */
  def start(
      store: StateStore,
      rows: Iterator[InternalRow],
      broadcast: BroadcastRows
  )(finish: () => Unit): Iterator[InternalRow] = {
    val started = System.nanoTime()
    setup.spec.deletedStates.foreach(KeyedFamilies.remove(_, store))
    setup.families.foreach(_.createIn(store))
    new StateMigration(setup.histories, store).run()
    val counts = new ChangeCounts
    begin(store, InitialRows.of(rows), counts)
    val late = mutable.Queue.empty[InternalRow]
    val context = TaskContext.get()
    val runtime = runtimeOf(operator.function, setup, store, counts)
    val stopsWithin = setup.spec.mode == KeyedSpec.Element
    val cuts =
      if (!setup.streaming || setup.live) Cuts.Never
      else TaskCuts.of(store, runtime.waiting, setup.batchId, setup.batchTime, stopsWithin, context)
    val input = if (setup.live) LiveReader.start(rows, setup.inputSchema, setup.limits, context) else rows
    val task = runtime.open(input, broadcast, lateRule(late), late, cuts)
    val emitted = operator.longMetric("numOutputRows")
    CompletionIterator[InternalRow, Iterator[InternalRow]](
      task, {
        operator.longMetric("allUpdatesTimeMs") += millisSince(started)
        KeyedMetrics.report(operator.metrics, counts, task, runtime.waiting)
        runtime.nextProcessingTimer.foreach(earliest.add)
        waiting.add(runtime.waiting.segments.size.toLong)
        // Before the commit, so that nothing of a batch with a difference ever becomes durable.
        if (!broadcast.isEmpty) check(store, runtime.entrySums)
        runtime.close()
        val committing = System.nanoTime()
        finish()
        operator.longMetric("commitTimeMs") += millisSince(committing)
        operator.reportStore(store)
      }
    ).map { row =>
      emitted += 1
      row
    }
  }

  private def runtimeOf(
      function: KeyedFunction,
      setup: TaskSetup,
      store: StateStore,
      counts: ChangeCounts
  ): TaskRuntime = {
    val context = TaskContext.get()
    def startLink(): WorkerLink = {
      val link = new PythonWorkerLink(function.python, artifact, operator.workerMetrics)
      link.start(context)
      link
    }
    val partition = if (setup.streaming) store.id.partitionId else context.partitionId()
    val partitions = if (setup.streaming) setup.partitions else context.numPartitions()
    val place = TaskPlace(partition, partitions)
    val allocator = ArrowSchemas.allocator("keyed process")
    new TaskRuntime(setup, store, counts, ArrowSchemas.of(setup.timeZone) _, allocator, place, () => startLink())
  }

  /** Hands the rows of the initial state to the function, before all others. Nothing is put out, and no timer fires. */
  private def begin(store: StateStore, rows: Iterator[InternalRow], counts: ChangeCounts): Unit =
    for (function <- operator.function.initial; begins <- initialSetup if rows.hasNext) {
      val runtime = runtimeOf(function, begins, store, counts)
      val task = runtime.open(rows, BroadcastRows.None, LateRule.None, mutable.Queue.empty, Cuts.Never)
      if (task.hasNext) throw new InternalError("The function put rows out for its initial state.")
      KeyedMetrics.report(operator.metrics, new ChangeCounts, task, runtime.waiting)
      runtime.close()
    }

  private def check(store: StateStore, sums: Seq[(String, EntrySum)]): Unit = if (sums.nonEmpty) {
    val found = sums.map { case (name, sum) => (name, sum.entries, sum.hash) }
    BroadcastChecks.check(
      BroadcastReport(run, operatorId, setup.batchId, store.id.partitionId, found),
      setup.spec.function
    )
  }

  private def millisSince(nanos: Long): Long = (System.nanoTime() - nanos) / 1000000

  private def divertsLateRows: Boolean =
    setup.streaming && setup.spec.keyed && !setup.spec.takesLateRows && operator.timeMode == TimeMode.EventTime()

  /** Spark's rule for late rows; they are counted, and go to a side output if one was named. */
  private def lateRule(late: mutable.Queue[InternalRow]): LateRule =
    operator.watermarkPredicateForDataForLateEvents match {
      case Some(predicate) if divertsLateRows =>
        val dropped = operator.longMetric("numRowsDroppedByWatermark")
        val toOutput = setup.spec.lateOutput.map(LateRule.projection(setup, _))
        new LateRule(
          row => predicate.eval(row),
          row => {
            dropped += 1
            toOutput.foreach(projection => late += projection(row).copy())
          }
        )
      case _ => LateRule.None
    }
}

private object KeyedRun {

  /** Makes the setup of the tasks from the plan of a micro-batch, in which Spark has filled in watermarks and state. */
  def setup(plan: KeyedOperator, conf: SQLConf): TaskSetup =
    setup(plan, conf, plan.function.spec, plan.child.output, plan.groupingAttributes)

  /** The same for the rows of the initial state. A bounded table has no watermark: they have that of the rows after
    * them, by which the timers fire that they set.
    */
  def initialSetup(plan: KeyedOperator, conf: SQLConf, after: TaskSetup): Option[TaskSetup] =
    for (function <- plan.function.initial if plan.hasInitialState)
      yield setup(plan, conf, function.spec, plan.initialState.output, plan.initialStateGroupingAttrs)
        .copy(watermark = after.watermark, rowsWatermark = after.rowsWatermark, firesTimers = false)

  private def setup(
      plan: KeyedOperator,
      conf: SQLConf,
      spec: KeyedSpec,
      input: Seq[Attribute],
      keys: Seq[Attribute]
  ): TaskSetup = {
    val eventTime = Some(input.indexWhere(_.metadata.contains(EventTimeWatermark.delayKey))).filter(_ >= 0)
    TaskSetup(
      spec,
      input,
      keys.map(key => input.indexWhere(_.exprId == key.exprId)),
      DataTypeUtils.fromAttributes(plan.output),
      plan.getStateInfo.storeVersion,
      plan.batchTimestampMs.getOrElse(0L),
      if (!plan.isStreaming) Some(Long.MaxValue)
      else if (eventTime.isDefined) plan.eventTimeWatermarkForEviction
      else None,
      eventTime,
      conf.sessionLocalTimeZone,
      plan.isStreaming,
      WorkerLimits.read(name => Option(conf.getConfString(name, null)), conf.arrowMaxBytesPerBatch),
      plan.histories,
      plan.getStateInfo.numPartitions,
      if (plan.isStreaming && eventTime.isDefined) plan.eventTimeWatermarkForLateEvents else None,
      live = plan.isLive
    )
  }
}
