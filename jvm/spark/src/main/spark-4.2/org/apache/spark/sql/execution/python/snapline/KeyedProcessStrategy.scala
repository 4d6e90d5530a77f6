package org.apache.spark.sql.execution.python.snapline

import java.util.UUID

import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UpdateEventTimeWatermarkColumn}
import org.apache.spark.sql.execution.{LocalTableScanExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.streaming.operators.stateful.{StatefulOperatorStateInfo, WatermarkSupport}
import org.apache.spark.sql.streaming.{OutputMode, TimeMode}
import org.apache.spark.sql.types.NullType

object KeyedProcessStrategy extends SparkStrategy {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case keyed: KeyedProcess =>
      val eventTime = WatermarkSupport.findEventTimeColumn(keyed.child.output, allowMultipleEventTimeColumns = true)
      val timeMode = if (eventTime.isDefined) TimeMode.EventTime() else TimeMode.None()
      val bounded = if (keyed.child.isStreaming) None else Some((boundedState, System.currentTimeMillis()))
      operator(keyed, timeMode, bounded, planLater(keyed.child)) :: Nil
    case UpdateEventTimeWatermarkColumn(column, Some(delay), keyed: KeyedProcess) =>
      KeyedOutputTimeExec(column, delay, planLater(keyed)) :: Nil
    case _ => Nil
  }

  /** A bounded table has a store of its own for as long as the task runs. */
  private def boundedState: StatefulOperatorStateInfo = StatefulOperatorStateInfo(
    checkpointLocation = "",
    queryRunId = UUID.randomUUID(),
    operatorId = 0,
    storeVersion = 0,
    numPartitions = org.apache.spark.sql.internal.SQLConf.get.numShufflePartitions,
    stateStoreCkptIds = None
  )

  /** Before Spark has filled in what belongs to a micro-batch.
    *
    * @param bounded
    *   the state of a bounded table, and its time; a stream gets both from Spark
    */
  private def operator(
      keyed: KeyedProcess,
      timeMode: TimeMode,
      bounded: Option[(StatefulOperatorStateInfo, Long)],
      child: SparkPlan
  ): SparkPlan = {
    val nothing = Literal.create(null, NullType)
    new KeyedProcessExec(
      keyDeserializer = nothing,
      valueDeserializer = nothing,
      groupingAttributes = keyed.keys,
      dataAttributes = keyed.output,
      statefulProcessor = null,
      timeMode = timeMode,
      outputMode = OutputMode.Update(),
      keyEncoder = null,
      outputObjAttr = keyed.keys.head,
      stateInfo = bounded.map(_._1),
      batchTimestampMs = bounded.map(_._2),
      prevBatchTimestampMs = None,
      eventTimeWatermarkForLateEvents = None,
      eventTimeWatermarkForEviction = None,
      child = child,
      isStreaming = bounded.isEmpty,
      hasInitialState = false,
      initialStateGroupingAttrs = Nil,
      initialStateDataAttrs = keyed.order,
      initialStateDeserializer = nothing,
      initialState = LocalTableScanExec(Nil, Nil, None),
      function = keyed.function
    )
  }
}
