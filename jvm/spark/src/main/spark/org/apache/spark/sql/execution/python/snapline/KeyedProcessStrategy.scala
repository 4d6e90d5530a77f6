package org.apache.spark.sql.execution.python.snapline

import java.util.UUID

import org.apache.spark.sql.catalyst.expressions.{Attribute, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UpdateEventTimeWatermarkColumn}
import org.apache.spark.sql.execution.{LocalTableScanExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.streaming.operators.stateful.{StatefulOperatorStateInfo, WatermarkSupport}
import org.apache.spark.sql.streaming.{OutputMode, TimeMode}
import org.apache.spark.sql.types.NullType

object KeyedProcessStrategy extends SparkStrategy {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case KeyedProcess(function, keys, order, output, child) =>
      operator(function, keys, order, output, child, LocalTableScanExec(Nil, Nil, None), Nil) :: Nil
    case KeyedConnect(function, keys, order, broadcastOrder, output, left, right) =>
      operator(function, keys, order, output, left, planLater(right), broadcastOrder) :: Nil
    case KeyedInitial(function, keys, order, initialKeys, output, left, right) =>
      operator(function, keys, order, output, left, planLater(right), initialKeys) :: Nil
    case UpdateEventTimeWatermarkColumn(column, Some(delay), keyed: KeyedNode) =>
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

  /** Before Spark has filled in what belongs to a micro-batch. A bounded table has its state and its time from here; a
    * stream gets both from Spark.
    *
    * @param second
    *   the broadcast stream or the initial state
    * @param secondColumns
    *   what orders the former, and the keys of the latter
    */
  private def operator(
      function: KeyedFunction,
      keys: Seq[Attribute],
      order: Seq[Attribute],
      output: Seq[Attribute],
      child: LogicalPlan,
      second: SparkPlan,
      secondColumns: Seq[Attribute]
  ): SparkPlan = {
    val eventTime = WatermarkSupport.findEventTimeColumn(child.output, allowMultipleEventTimeColumns = true)
    val timeMode = if (eventTime.isDefined) TimeMode.EventTime() else TimeMode.None()
    val bounded = if (child.isStreaming) None else Some((boundedState, System.currentTimeMillis()))
    val nothing = Literal.create(null, NullType)
    new KeyedProcessExec(
      keyDeserializer = nothing,
      valueDeserializer = nothing,
      groupingAttributes = keys,
      dataAttributes = output,
      statefulProcessor = null,
      timeMode = timeMode,
      outputMode = OutputMode.Update(),
      keyEncoder = null,
      outputObjAttr = output.head,
      stateInfo = bounded.map(_._1),
      batchTimestampMs = bounded.map(_._2),
      eventTimeWatermarkForLateEvents = None,
      eventTimeWatermarkForEviction = None,
      child = planLater(child),
      isStreaming = bounded.isEmpty,
      hasInitialState = function.initial.isDefined,
      initialStateGroupingAttrs = secondColumns,
      initialStateDataAttrs = order,
      initialStateDeserializer = nothing,
      initialState = second,
      function = function
    )
  }
}
