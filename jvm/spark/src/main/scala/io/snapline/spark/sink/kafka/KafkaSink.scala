package io.snapline.spark.sink.kafka

import java.util

import org.apache.spark.sql.connector.catalog.{Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.write.LogicalWriteInfo
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.snapline.spark.sink.{ExactlyOnceTable, SinkTarget}

/** `writeStream.format("snapline-kafka")`: with the columns and options of Spark's Kafka sink, exactly once. */
class KafkaSink extends TableProvider with DataSourceRegister {
  override def shortName(): String = KafkaSink.Name

  override def inferSchema(options: CaseInsensitiveStringMap): StructType = new StructType()

  override def supportsExternalMetadata(): Boolean = true

  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]
  ): Table = new KafkaTable(KafkaOptions(new CaseInsensitiveStringMap(properties)))
}

private object KafkaSink {
  val Name = "snapline-kafka"
}

private final class KafkaTable(options: KafkaOptions) extends ExactlyOnceTable {
  override def name(): String = s"${KafkaSink.Name} ${options.topic.getOrElse("")}".trim

  override protected def defaultName: String = options.topic.getOrElse("kafka")

  // Spark's Kafka sink takes the rows of every output mode too, and truncates nothing.
  override protected def target(info: LogicalWriteInfo, truncates: Boolean): SinkTarget =
    new KafkaTarget(options, KafkaColumns(info.schema, options.topic))
}
