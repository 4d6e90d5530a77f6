package io.snapline.spark.sink.kafka

import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.write.LogicalWriteInfo
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.snapline.spark.sink.{ExactlyOnceSource, ExactlyOnceTable, SinkTarget}

/** `writeStream.format("snapline-kafka")`: with the columns and options of Spark's Kafka sink, exactly once. */
class KafkaSink extends ExactlyOnceSource(KafkaSink.Name) {
  override protected def table(options: CaseInsensitiveStringMap): Table = new KafkaTable(KafkaOptions(options))
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
