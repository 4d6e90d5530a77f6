package org.apache.spark.sql.execution.streaming.state
package snapline

import java.io.File
import java.util.UUID

import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.{SparkConf, SparkContext, SparkEnv, TaskContext}
import org.apache.spark.sql.errors.QueryExecutionErrors
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.types.DataType
import org.apache.spark.util.Utils

/** The few things of Spark's state package that are private to Spark. */
object StateInternals {

  def runId(configuration: Configuration): UUID = UUID.fromString(configuration.get(StreamExecution.RUN_ID_KEY))

  /** The configuration, changed so that a store reads this run from it. */
  def ofRun(configuration: Configuration, run: UUID): Configuration = {
    configuration.set(StreamExecution.RUN_ID_KEY, run.toString)
    configuration
  }

  def queryId(task: TaskContext): String = task.getLocalProperty(StreamExecution.QUERY_ID_KEY)

  /** The run of a stream that the task is of, if its function has not begun a job group of its own. */
  def runOf(task: TaskContext): String = task.getLocalProperty(SparkContext.SPARK_JOB_GROUP_ID)

  /** A folder under the executor's local dirs; Spark deletes it when the executor ends. */
  def localFolder(name: String): File =
    Utils.createExecutorLocalTempDir(Option(SparkEnv.get).map(_.conf).getOrElse(new SparkConf), name)

  /** One task at a time holds a store: Spark's own state machine, with its messages and its timeout. */
  def stateMachine(id: StateStoreId, conf: StateStoreConf): RocksDBStateMachine =
    new RocksDBStateMachine(id, RocksDBConf(conf))

  /** No task has the store, now. */
  def isFree(stamps: RocksDBStateMachine): Boolean = stamps.currentValidStamp.get() < 0

  /** Does not wait for a task that has the store. None: one has, or it is closed. */
  def stampIfFree(stamps: RocksDBStateMachine): Option[Long] =
    if (isFree(stamps)) Try(stamps.acquireStamp()).toOption else None

  def reportSnapshot(id: StateStoreId, runId: UUID, version: Long): Unit =
    StateStoreProvider.coordinatorRef.foreach { coordinator =>
      coordinator.snapshotUploaded(StateStoreProviderId(id, runId), version, System.currentTimeMillis()): Unit
    }

  def contains(dataType: DataType, wanted: DataType => Boolean): Boolean = dataType.existsRecursively(wanted)

  def unexpectedVersion(version: Long): Throwable = QueryExecutionErrors.unexpectedStateStoreVersion(version)

  def cannotRead(file: String, cause: Throwable): Throwable =
    QueryExecutionErrors.failedToReadStreamingStateFileError(new Path(file), cause)

  def cannotLoad(cause: Throwable): Throwable = StateStoreErrors.cannotLoadStore(cause)

  def cannotCommit(store: String, cause: Throwable): Throwable =
    QueryExecutionErrors.failedToCommitStateFileError(store, cause)
}
