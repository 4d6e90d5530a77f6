package org.apache.spark.sql.execution.streaming
package snapline

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.apache.spark.sql.execution.streaming.operators.stateful.{StatefulOperatorStateInfo, StateStoreWriter}

import io.snapline.spark.plugin.{Checkpointing, PlannedBatch, PlannedOperator}

/** Sees the plan of every micro-batch on the stream's own thread, before its tasks start: the place to decide whether its end is the barrier of a checkpoint.
  * Changes no plan.
  */
object BarrierRule extends ColumnarRule {
  override def preColumnarTransitions: Rule[SparkPlan] = plan => {
    val writers = plan.collect { case writer: StateStoreWriter if writer.stateInfo.exists(isOfBatch) => writer }
    writers.headOption.foreach { first =>
      val info = first.getStateInfo
      val batch = PlannedBatch(info.checkpointLocation, info.queryRunId, info.storeVersion, writers.map(operator))
      Checkpointing.planned(batch, plan.session)
    }
    plan
  }

  /** A bounded query has no checkpoint folder, and a plan that is only explained has none that is one. */
  private def isOfBatch(info: StatefulOperatorStateInfo): Boolean =
    info.checkpointLocation.nonEmpty && new Path(info.checkpointLocation).isAbsolute

  /** An operator over all rows has one partition, whatever the number of shuffle partitions. */
  private def operator(writer: StateStoreWriter): PlannedOperator = {
    val planned = writer.asInstanceOf[SparkPlan].outputPartitioning.numPartitions
    val info = writer.getStateInfo
    PlannedOperator(
      info.operatorId,
      writer.shortName,
      if (planned > 0) planned else info.numPartitions,
      writer.stateStoreNames
    )
  }
}
