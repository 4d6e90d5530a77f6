package io.snapline.spark.ui

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.sql.streaming.SinkProgress

/** The sink of a query that has each row once, after its newest micro-batch.
  *
  * @param batch
  *   the newest that is there
  * @param partitions
  *   how many ever had a row
  * @param rowsWritten
  *   since the run began
  * @param rowsSkipped
  *   since the run began: the sink had them
  */
final case class SinkRecord(
    description: String,
    batch: Long,
    partitions: Long,
    rowsWritten: Long,
    rowsSkipped: Long
)

object SinkRecord {

  /** None: the sink is of another kind. */
  def of(sink: SinkProgress): Option[SinkRecord] =
    of(sink.description, Option(sink.metrics).fold(Map.empty[String, String])(_.asScala.toMap))

  /** @param metrics
    *   as `SinkRun` reports them to Spark
    */
  def of(description: String, metrics: Map[String, String]): Option[SinkRecord] = Try {
    SinkRecord(
      description,
      metrics("batch").toLong,
      metrics("partitions").toLong,
      metrics("rowsWritten").toLong,
      metrics("rowsSkipped").toLong
    )
  }.toOption
}
