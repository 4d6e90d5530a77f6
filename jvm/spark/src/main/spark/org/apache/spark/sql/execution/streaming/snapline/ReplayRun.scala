package org.apache.spark.sql.execution.streaming
package snapline

import org.apache.spark.sql.{DataFrame, classic}
import org.apache.spark.sql.catalyst.streaming.{InternalOutputModes, WriteToStream}
import org.apache.spark.sql.errors.QueryExecutionErrors
import org.apache.spark.sql.execution.streaming.runtime.{
  MicroBatchExecutionContext,
  StreamExecution,
  TriggerExecutor
}
import org.apache.spark.sql.internal.SQLConf

/** A run of a query that runs batches again, each when it is asked for, into a sink that keeps nothing.
  *
  * Spark's own run takes one batch from the logs, that which has no commit, and asks the sources for the next. This one
  * takes each batch from the logs, as a run would that begins with it. So the owner may change the logs between two.
  */
final class ReplayRun private (session: classic.SparkSession, plan: WriteToStream)
    extends ReplayBase(session, plan) {
  private val orders = new BatchOrders(construct)

  /** Runs the newest batch of the offset log, which must have no commit. Throws StreamingQueryException if it fails.
    * Where the run is stopped, it ends, and the batch has no commit.
    *
    * @return
    *   its input rows
    */
  def replay(batch: Long): Long = {
    if (!orders.run(batch)) awaitTermination()
    Option(lastProgress).filter(_.batchId == batch).fold(0L)(_.numInputRows)
  }

  override protected def getTrigger(): TriggerExecutor = orders

  private def construct(next: MicroBatchExecutionContext): Unit = {
    populateStartOffsets(next, sparkSessionForStream)
    // Otherwise the watermarks of all batches stay in memory.
    cleanUpLastExecutedMicroBatch(next)
  }

  override def cleanup(): Unit =
    try super.cleanup()
    finally orders.end()
}

object ReplayRun {

  /** Starts a run, which waits for its first batch.
    *
    * @param rows
    *   the query's, in a session that is the replay's alone
    * @param checkpoint
    *   the query's folder
    */
  def start(rows: DataFrame, outputMode: String, checkpoint: String): ReplayRun = {
    val query = rows.asInstanceOf[classic.DataFrame].queryExecution
    val session = query.sparkSession
    val statement = ReplayBase.statement(query, InternalOutputModes(outputMode), checkpoint)
    val plan = session.sessionState.executePlan(statement).analyzed.asInstanceOf[WriteToStream]
    val run = new ReplayRun(session, plan)
    register(run, session)
    try run.start()
    catch { case e: Throwable => active(session).remove(run.id, run): Unit; throw e }
    run
  }

  /** As Spark registers each of its queries: at most one of an id runs in an application. The run's end takes it out.
    */
  private def register(run: ReplayRun, session: classic.SparkSession): Unit = {
    if (session.sessionState.conf.getConf(SQLConf.STREAMING_STOP_ACTIVE_RUN_ON_RESTART))
      Option(active(session).get(run.id)).foreach(_.stop())
    if (active(session).putIfAbsent(run.id, run) != null) throw QueryExecutionErrors.concurrentQueryInstanceError()
  }

  private def active(session: classic.SparkSession): java.util.Map[java.util.UUID, StreamExecution] =
    session.sharedState.activeStreamingQueries
}
