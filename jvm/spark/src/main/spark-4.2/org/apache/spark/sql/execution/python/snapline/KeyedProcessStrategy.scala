package org.apache.spark.sql.execution.python.snapline

import java.util.UUID

import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UpdateEventTimeWatermarkColumn}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.streaming.operators.stateful.{StatefulOperatorStateInfo, WatermarkSupport}
import org.apache.spark.sql.streaming.TimeMode

object KeyedProcessStrategy extends SparkStrategy {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case keyed: KeyedProcess =>
      val eventTime = WatermarkSupport.findEventTimeColumn(keyed.child.output, allowMultipleEventTimeColumns = true)
      val timeMode = if (eventTime.isDefined) TimeMode.EventTime() else TimeMode.None()
      val bounded = if (keyed.child.isStreaming) None else Some((boundedState, System.currentTimeMillis()))
      KeyedProcessExec.plan(keyed, timeMode, bounded, planLater(keyed.child)) :: Nil
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
}
