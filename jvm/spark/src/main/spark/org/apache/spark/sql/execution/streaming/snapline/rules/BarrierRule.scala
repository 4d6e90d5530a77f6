package org.apache.spark.sql.execution.streaming
package snapline.rules

import io.snapline.spark.coordinator.{Checkpointing, PlannedBatch, PlannedOperator}

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreWriter

/** Sees the plan of every micro-batch on the stream's own thread, before its tasks start: the place to decide whether
  * its end is the barrier of a checkpoint. Changes no plan.
  */
object BarrierRule extends ColumnarRule {
  override def preColumnarTransitions: Rule[SparkPlan] = plan => {
    val writers = writersIn(plan, feedsState = false)
    writers.headOption.foreach { case (first, _) =>
      val info = first.getStateInfo
      val operators = writers.map { case (writer, feedsState) => operator(writer, feedsState) }
      val batch = PlannedBatch(info.checkpointLocation, info.queryRunId, info.storeVersion, operators)
      Checkpointing.planned(batch, plan.session)
    }
    plan
  }

  /** From the sink down, and whether there is another one above each. */
  private def writersIn(plan: SparkPlan, feedsState: Boolean): Seq[(StateStoreWriter, Boolean)] = {
    val here = Option(plan).collect {
      case writer: StateStoreWriter if PlannedState.isOfBatch(writer) => (writer, feedsState)
    }
    here.toSeq ++ plan.children.flatMap(writersIn(_, feedsState || here.isDefined))
  }

  /** An operator over all rows has one partition, whatever the number of shuffle partitions. */
  private def operator(writer: StateStoreWriter, feedsState: Boolean): PlannedOperator = {
    val planned = writer.asInstanceOf[SparkPlan].outputPartitioning.numPartitions
    val info = writer.getStateInfo
    PlannedOperator(
      info.operatorId,
      writer.shortName,
      if (planned > 0) planned else info.numPartitions,
      writer.stateStoreNames,
      feedsState
    )
  }
}
