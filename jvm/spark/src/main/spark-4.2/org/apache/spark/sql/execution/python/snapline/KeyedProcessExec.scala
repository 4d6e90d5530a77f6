package org.apache.spark.sql.execution.python.snapline

import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorStateInfo
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec
import org.apache.spark.sql.streaming.{OutputMode, StatefulProcessor, TimeMode}

/** The keyed operator as a node of a plan. The fields are Spark's, in Spark's order, because Spark rebuilds a node from
  * them.
  */
private[snapline] class KeyedProcessExec(
    keyDeserializer: Expression,
    valueDeserializer: Expression,
    groupingAttributes: Seq[Attribute],
    dataAttributes: Seq[Attribute],
    statefulProcessor: StatefulProcessor[Any, Any, Any],
    timeMode: TimeMode,
    outputMode: OutputMode,
    keyEncoder: ExpressionEncoder[Any],
    outputObjAttr: Attribute,
    stateInfo: Option[StatefulOperatorStateInfo],
    batchTimestampMs: Option[Long],
    prevBatchTimestampMs: Option[Long] = None,
    eventTimeWatermarkForLateEvents: Option[Long],
    eventTimeWatermarkForEviction: Option[Long],
    child: SparkPlan,
    isStreaming: Boolean,
    hasInitialState: Boolean,
    initialStateGroupingAttrs: Seq[Attribute],
    initialStateDataAttrs: Seq[Attribute],
    initialStateDeserializer: Expression,
    initialState: SparkPlan,
    val function: KeyedFunction
) extends TransformWithStateExec(
      keyDeserializer,
      valueDeserializer,
      groupingAttributes,
      dataAttributes,
      statefulProcessor,
      timeMode,
      outputMode,
      keyEncoder,
      outputObjAttr,
      KeyedOperator.sized(stateInfo, function),
      batchTimestampMs,
      prevBatchTimestampMs,
      eventTimeWatermarkForLateEvents,
      eventTimeWatermarkForEviction,
      child,
      isStreaming,
      hasInitialState,
      initialStateGroupingAttrs,
      initialStateDataAttrs,
      initialStateDeserializer,
      initialState
    )
    with KeyedOperator {
  // That line's real-time mode has no state.
  override def isLive: Boolean = false

  override def copy(
      keyDeserializer: Expression,
      valueDeserializer: Expression,
      groupingAttributes: Seq[Attribute],
      dataAttributes: Seq[Attribute],
      statefulProcessor: StatefulProcessor[Any, Any, Any],
      timeMode: TimeMode,
      outputMode: OutputMode,
      keyEncoder: ExpressionEncoder[Any],
      outputObjAttr: Attribute,
      stateInfo: Option[StatefulOperatorStateInfo],
      batchTimestampMs: Option[Long],
      prevBatchTimestampMs: Option[Long],
      eventTimeWatermarkForLateEvents: Option[Long],
      eventTimeWatermarkForEviction: Option[Long],
      child: SparkPlan,
      isStreaming: Boolean,
      hasInitialState: Boolean,
      initialStateGroupingAttrs: Seq[Attribute],
      initialStateDataAttrs: Seq[Attribute],
      initialStateDeserializer: Expression,
      initialState: SparkPlan
  ): TransformWithStateExec = new KeyedProcessExec(
    keyDeserializer,
    valueDeserializer,
    groupingAttributes,
    dataAttributes,
    statefulProcessor,
    timeMode,
    outputMode,
    keyEncoder,
    outputObjAttr,
    stateInfo,
    batchTimestampMs,
    prevBatchTimestampMs,
    eventTimeWatermarkForLateEvents,
    eventTimeWatermarkForEviction,
    child,
    isStreaming,
    hasInitialState,
    initialStateGroupingAttrs,
    initialStateDataAttrs,
    initialStateDeserializer,
    initialState,
    function
  )
}
