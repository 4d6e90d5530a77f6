package io.snapline.spark.sink

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.{SupportsWrite, Table, TableCapability}
import org.apache.spark.sql.connector.read.streaming.ReportsSinkMetrics
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, SupportsTruncate, Write, WriteBuilder}
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend
import org.apache.spark.sql.types.StructType

/** A sink of one query. Its figures are in the progress of each micro-batch, below `sink`. */
private[sink] abstract class ExactlyOnceTable extends Table with SupportsWrite with ReportsSinkMetrics {
  @volatile private var last: Option[ExactlyOnceWrite] = None

  /** The sink with the columns of a query. Throws what is wrong with them.
    *
    * @param truncates
    *   whether each micro-batch has all rows of the result (output mode complete)
    */
  protected def target(info: LogicalWriteInfo, truncates: Boolean): SinkTarget

  /** As the sink is called if the option says nothing. */
  protected def defaultName: String

  // In Spark's progress.
  override def toString: String = name

  override def schema(): StructType = new StructType()

  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(
    TableCapability.BATCH_WRITE,
    TableCapability.STREAMING_WRITE,
    TableCapability.ACCEPT_ANY_SCHEMA
  )

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder =
    new WriteBuilder with SupportsTruncate with SupportsStreamingUpdateAsAppend {
      private var truncates = false

      override def truncate(): WriteBuilder = {
        truncates = true
        this
      }

      override def build(): Write = {
        val options = SinkOptions(info.options)
        val made = new ExactlyOnceWrite(
          options.name.getOrElse(defaultName),
          target(info, truncates),
          options,
          info.schema
        )
        last = Some(made)
        made
      }
    }

  override def metrics(): util.Map[String, String] = last.fold(Map.empty[String, String])(_.run.metrics).asJava
}
