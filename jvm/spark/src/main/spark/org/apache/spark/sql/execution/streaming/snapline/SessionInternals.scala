package org.apache.spark.sql.execution.streaming
package snapline

import java.util.UUID

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.optimizer.InlineCTE
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqMetadata
import org.apache.spark.sql.execution.streaming.runtime.{IncrementalExecution, WatermarkPropagator}
import org.apache.spark.sql.execution.streaming.state.StateStoreConf
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.{OutputMode, StreamingQuery}
import org.apache.spark.sql.types.StructType

/** Members of a session that only Spark's own packages can reach. */
object SessionInternals {
  def hadoopConfiguration(session: SparkSession): Configuration = session.sessionState.newHadoopConf()

  def storeConf(session: SparkSession): StateStoreConf = StateStoreConf(session.sessionState.conf)

  /** The session's settings, with those that a batch ran with: an entry of the offset log has them in its second line.
    */
  def settingsOfBatch(session: SparkSession, offsetMetadata: String): SQLConf = {
    val settings = session.sessionState.conf.clone()
    OffsetSeqMetadata.setSessionConf(OffsetSeqMetadata(offsetMetadata), settings)
    settings
  }

  /** Plans the batch 0 of a query as if it had this checkpoint folder: Spark writes down its operators and the schemas
    * of their states.
    */
  def planFirstBatch(
      session: SparkSession,
      query: DataFrame,
      outputMode: OutputMode,
      offsetMetadata: String,
      folder: String
  ): Unit = {
    val batch = OffsetSeqMetadata(offsetMetadata)
    val own = session.asInstanceOf[classic.SparkSession]
    OffsetSeqMetadata.setSessionConf(batch, own.sessionState.conf)
    val execution = new IncrementalExecution(
      own,
      query.asInstanceOf[classic.DataFrame].queryExecution.analyzed,
      outputMode,
      s"$folder/state",
      UUID.randomUUID(),
      UUID.randomUUID(),
      currentBatchId = 0,
      prevOffsetSeqMetadata = None,
      offsetSeqMetadata = batch,
      watermarkPropagator = WatermarkPropagator.noop(),
      isFirstBatch = true
    )
    // The rule that numbers operators, and no more: those that come after it would take this for a batch that runs.
    own.withActive(execution.state(execution.sparkPlan)): Unit
  }

  /** A session of the same settings, to change some for one job. */
  def copyOf(session: SparkSession): SparkSession = session.asInstanceOf[classic.SparkSession].cloneSession()

  def frame(session: SparkSession, rows: RDD[InternalRow], schema: StructType): DataFrame =
    session.asInstanceOf[classic.SparkSession].internalCreateDataFrame(rows, schema)

  def frame(session: SparkSession, table: Table): DataFrame = classic.Dataset.ofRows(
    session.asInstanceOf[classic.SparkSession],
    DataSourceV2Relation.create(table, None, None)
  )

  /** The plan as Spark analyzed it. Each `WITH` stands where it is used: whether it feeds state depends on that. */
  def analyzed(frame: DataFrame): LogicalPlan =
    InlineCTE(alwaysInline = true).apply(frame.asInstanceOf[classic.DataFrame].queryExecution.analyzed)

  /** The same rows, planned under the settings of another session. */
  def under(session: SparkSession, frame: DataFrame): DataFrame = classic.Dataset.ofRows(
    session.asInstanceOf[classic.SparkSession],
    frame.asInstanceOf[classic.DataFrame].queryExecution.analyzed
  )

  /** A run that runs batches of a query again. */
  def startReplay(rows: DataFrame, outputMode: String, checkpoint: String): ReplayRun =
    ReplayRun.start(rows, outputMode, checkpoint)

  /** A query of any session of the application: they know each other's. */
  def running(session: SparkSession, run: UUID): Option[StreamingQuery] =
    session.asInstanceOf[classic.SparkSession].sharedState.activeStreamingQueries.values.asScala.find(_.runId == run)

  /** The id of a query's run, and its checkpoint folder, whichever session of the application started it. Empty: the
    * query does not run.
    */
  def runOf(session: SparkSession, query: String): Array[String] = {
    val active = session.asInstanceOf[classic.SparkSession].sharedState.activeStreamingQueries
    Option(active.get(UUID.fromString(query))).fold(Array.empty[String]) { run =>
      Array(run.runId.toString, run.resolvedCheckpointRoot)
    }
  }

  def internalRows(frame: DataFrame): RDD[InternalRow] = frame.asInstanceOf[classic.DataFrame].queryExecution.toRdd
}
