package io.snapline.spark.sink

import org.apache.spark.sql.connector.metric.{CustomMetric, CustomSumMetric, CustomTaskMetric}

/** Figures of a sink, as the SQL tab shows them for each batch. */
private[sink] object SinkMetrics {
  private val Rows = "rowsWritten"
  private val Skipped = "rowsSkipped"
  private val Retries = "transactionsRetried"
  private val Commit = "commitMillis"

  def ofTask(rows: Long, skipped: Long, retries: Long, commitMillis: Long): Array[CustomTaskMetric] =
    Array(Value(Rows, rows), Value(Skipped, skipped), Value(Retries, retries), Value(Commit, commitMillis))

  def supported: Array[CustomMetric] = Array(
    new RowsWritten,
    new RowsSkipped,
    new TransactionsRetried,
    new CommitMillis
  )

  private final case class Value(name: String, value: Long) extends CustomTaskMetric

  // Spark makes them by their class names.
  final class RowsWritten extends CustomSumMetric {
    override def name(): String = Rows
    override def description(): String = "rows written"
  }

  final class RowsSkipped extends CustomSumMetric {
    override def name(): String = Skipped
    override def description(): String = "rows skipped, the sink had them"
  }

  final class TransactionsRetried extends CustomSumMetric {
    override def name(): String = Retries
    override def description(): String = "transactions begun again after a lost connection"
  }

  final class CommitMillis extends CustomSumMetric {
    override def name(): String = Commit
    override def description(): String = "time of commits (ms)"
  }
}
