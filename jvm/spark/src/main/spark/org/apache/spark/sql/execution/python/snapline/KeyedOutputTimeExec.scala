package org.apache.spark.sql.execution.python.snapline

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder}
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.streaming.operators.stateful.UpdateEventTimeColumnExec
import org.apache.spark.unsafe.types.CalendarInterval

/** Hands the watermark on through a column of a keyed function's output, and refuses rows that are older.
  *
  * Spark's own node does it. But Spark gives that node its watermark only when it stands on one of the two operators
  * that Spark knows. So the node is made when the watermark is known: from the operator below.
  */
private[snapline] case class KeyedOutputTimeExec(eventTime: Attribute, delay: CalendarInterval, child: SparkPlan)
    extends UnaryExecNode {

  override protected def doExecute(): RDD[InternalRow] = {
    val watermark = child.collectFirst { case keyed: KeyedOperator => keyed.eventTimeWatermarkForLateEvents }.flatten
    UpdateEventTimeColumnExec(eventTime, delay, watermark, child).execute()
  }

  override def output: Seq[Attribute] =
    EventTimeWatermark.updateEventTimeColumn(child.output, EventTimeWatermark.getDelayMs(delay), eventTime)

  override def outputOrdering: Seq[SortOrder] = child.outputOrdering

  override def outputPartitioning: Partitioning = child.outputPartitioning

  override protected def withNewChildInternal(newChild: SparkPlan): KeyedOutputTimeExec = copy(child = newChild)
}
