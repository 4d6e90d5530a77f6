package org.apache.spark.sql.execution.streaming
package snapline.rules

import io.snapline.spark.coordinator.Checkpointing
import io.snapline.spark.provider.StartCheck

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.execution.streaming.snapline.SessionInternals

/** Sees the plan of every query that is about to start, in the call that starts it: the last moment before Spark
  * writes.
  */
final class StartRule(session: SparkSession) extends (LogicalPlan => Unit) {
  override def apply(plan: LogicalPlan): Unit = plan match {
    case write: WriteToStream =>
      val configuration = SessionInternals.hadoopConfiguration(session)
      val checkpoint = new Path(write.resolvedCheckpointLocation)
      StartCheck.run(checkpoint, SessionInternals.storeConf(session), configuration)
      Checkpointing.starting(checkpoint, configuration)
    case _ => ()
  }
}
