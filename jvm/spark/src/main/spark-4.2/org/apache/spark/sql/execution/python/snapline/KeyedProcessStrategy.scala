package org.apache.spark.sql.execution.python.snapline

import java.util.UUID

import org.apache.spark.api.python.PythonEvalType
import org.apache.spark.sql.catalyst.expressions.PythonUDF
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, TransformWithStateInPySpark}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.{LocalTableScanExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.streaming.operators.stateful.{StatefulOperatorStateInfo, WatermarkSupport}
import org.apache.spark.sql.streaming.{OutputMode, TimeMode}
import org.apache.spark.sql.types.StructType

object KeyedProcessStrategy extends SparkStrategy {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case keyed: KeyedProcess =>
      val streaming = keyed.child.isStreaming
      val eventTime = WatermarkSupport.findEventTimeColumn(keyed.child.output, allowMultipleEventTimeColumns = true)
      val udf = PythonUDF(
        keyed.function.spec.function,
        keyed.function.python,
        DataTypeUtils.fromAttributes(keyed.output),
        Nil,
        PythonEvalType.SQL_TRANSFORM_WITH_STATE_PYTHON_ROW_UDF,
        udfDeterministic = true
      )
      new KeyedProcessExec(
        udf,
        keyed.keys,
        keyed.output,
        OutputMode.Update(),
        if (eventTime.isDefined) TimeMode.EventTime() else TimeMode.None(),
        if (streaming) None else Some(boundedState),
        if (streaming) None else Some(System.currentTimeMillis()),
        None,
        None,
        None,
        TransformWithStateInPySpark.UserFacingDataType.PYTHON_ROW,
        planLater(keyed.child),
        streaming,
        hasInitialState = false,
        LocalTableScanExec(Nil, Nil, None),
        Nil,
        new StructType(),
        keyed.function,
        keyed.order
      ) :: Nil
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
}
