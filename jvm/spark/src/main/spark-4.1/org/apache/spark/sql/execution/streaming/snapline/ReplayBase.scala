package org.apache.spark.sql.execution.streaming
package snapline

import org.apache.spark.sql.catalyst.streaming.{WriteToStream, WriteToStreamStatement}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.datasources.noop.NoopDataSource
import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeq
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.util.SystemClock

/** Spark's run of micro-batches, which tells its sources nothing: the query told them itself which rows it needs no
  * more.
  */
private[snapline] abstract class ReplayBase(session: SparkSession, plan: WriteToStream)
    extends MicroBatchExecution(session, OneTimeTrigger, new SystemClock, Map.empty, plan) {
  override protected def commitSources(offsets: OffsetSeq): Unit = ()
}

private[snapline] object ReplayBase {

  /** Into a sink that keeps nothing. */
  def statement(query: QueryExecution, outputMode: OutputMode, checkpoint: String): WriteToStreamStatement =
    WriteToStreamStatement(
      userSpecifiedName = None,
      userSpecifiedCheckpointLocation = Some(checkpoint),
      useTempCheckpointLocation = false,
      recoverFromCheckpointLocation = true,
      sink = new NoopDataSource().getTable(CaseInsensitiveStringMap.empty()),
      outputMode = outputMode,
      hadoopConf = query.sparkSession.sessionState.newHadoopConf(),
      trigger = OneTimeTrigger,
      inputQuery = query.analyzed
    )
}
