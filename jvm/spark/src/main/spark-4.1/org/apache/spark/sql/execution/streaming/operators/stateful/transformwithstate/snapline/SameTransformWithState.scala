package org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate
package snapline

import org.apache.spark.sql.execution.python.streaming.TransformWithStateInPySparkExec

/** Has the fields of another. */
private[snapline] abstract class SameTransformWithState(exec: TransformWithStateExec)
    extends TransformWithStateExec(
      exec.keyDeserializer,
      exec.valueDeserializer,
      exec.groupingAttributes,
      exec.dataAttributes,
      exec.statefulProcessor,
      exec.timeMode,
      exec.outputMode,
      exec.keyEncoder,
      exec.outputObjAttr,
      exec.stateInfo,
      exec.batchTimestampMs,
      exec.eventTimeWatermarkForLateEvents,
      exec.eventTimeWatermarkForEviction,
      exec.child,
      exec.isStreaming,
      exec.hasInitialState,
      exec.initialStateGroupingAttrs,
      exec.initialStateDataAttrs,
      exec.initialStateDeserializer,
      exec.initialState
    )

private[snapline] abstract class SameTransformWithStateInPySpark(exec: TransformWithStateInPySparkExec)
    extends TransformWithStateInPySparkExec(
      exec.functionExpr,
      exec.groupingAttributes,
      exec.output,
      exec.outputMode,
      exec.timeMode,
      exec.stateInfo,
      exec.batchTimestampMs,
      exec.eventTimeWatermarkForLateEvents,
      exec.eventTimeWatermarkForEviction,
      exec.userFacingDataType,
      exec.child,
      exec.isStreaming,
      exec.hasInitialState,
      exec.initialState,
      exec.initialStateGroupingAttrs,
      exec.initialStateSchema
    )
