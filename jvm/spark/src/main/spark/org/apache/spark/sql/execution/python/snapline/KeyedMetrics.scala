package org.apache.spark.sql.execution.python.snapline

import io.snapline.spark.operator.channel.ChannelState
import io.snapline.spark.operator.state.ChangeCounts
import io.snapline.spark.operator.task.KeyedRows

import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.streaming.operators.stateful.{
  StatefulOperatorCustomMetric, StatefulOperatorCustomSumMetric
}

/** The metrics of a keyed operator in Spark's progress report, beyond those of every stateful operator. */
private[snapline] object KeyedMetrics {

  // The first four stand under the names of Spark's transformWithState.
  private val Registered = "numRegisteredTimers"
  private val Deleted = "numDeletedTimers"
  private val Fired = "numExpiredTimers"
  private val Expired = "numValuesRemovedDueToTTLExpiry"
  private val Fetched = "numStateRowsFetched"
  private val Epochs = "numPythonEpochs"
  private val ChannelRows = "numChannelRows"
  private val ChannelBytes = "channelStateBytes"

  def all: Seq[StatefulOperatorCustomMetric] = Seq(
    StatefulOperatorCustomSumMetric(Registered, "timers registered"),
    StatefulOperatorCustomSumMetric(Deleted, "timers deleted"),
    StatefulOperatorCustomSumMetric(Fired, "timers fired"),
    StatefulOperatorCustomSumMetric(Expired, "values removed because their time to live was over"),
    StatefulOperatorCustomSumMetric(Fetched, "rows of state sent to Python ahead"),
    StatefulOperatorCustomSumMetric(Epochs, "epochs of the Python workers"),
    StatefulOperatorCustomSumMetric(ChannelRows, "rows that wait for the next batch"),
    StatefulOperatorCustomSumMetric(ChannelBytes, "bytes of the rows that wait")
  )

  /** Adds what one task counted, and the metrics of its function. */
  def report(
      metrics: Map[String, SQLMetric],
      counts: ChangeCounts,
      task: KeyedRows,
      waiting: ChannelState
  ): Unit = {
    metrics("numUpdatedStateRows") += counts.updated
    metrics("numRemovedStateRows") += counts.removed
    metrics(Registered) += counts.timersRegistered
    metrics(Deleted) += counts.timersDeleted
    metrics(Fired) += counts.timersFired
    metrics(Expired) += counts.expired
    metrics(Fetched) += counts.fetched
    metrics(Epochs) += task.epochs
    metrics(ChannelRows) += waiting.rowCount
    metrics(ChannelBytes) += waiting.bytes
    task.metrics.foreach { case (name, value) => metrics.get(name).foreach(_ += value) }
  }
}
