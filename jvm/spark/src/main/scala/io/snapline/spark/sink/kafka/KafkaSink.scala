package io.snapline.spark.sink.kafka

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.write.LogicalWriteInfo
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.snapline.error.InvalidConfiguration
import io.snapline.spark.sink.{ExactlyOnceSource, ExactlyOnceTable, SinkTarget}

/** `writeStream.format("snapline-kafka")`: with the columns and options of Spark's Kafka sink, exactly once. */
class KafkaSink extends ExactlyOnceSource(KafkaSink.Name) {
  override protected def table(options: CaseInsensitiveStringMap): Table = {
    val read = KafkaOptions(options)
    checkClient()
    new KafkaTable(read)
  }

  /** Kafka's client is not in our jar: it comes with Spark's connector. */
  private def checkClient(): Unit =
    try Class.forName("org.apache.kafka.clients.producer.KafkaProducer", false, getClass.getClassLoader): Unit
    catch {
      case e: ClassNotFoundException => throw new InvalidConfiguration(
          "Kafka's client is not on the session's class path.",
          "start the session with Spark's connector: spark.jars.packages=" +
            s"org.apache.spark:spark-sql-kafka-0-10_2.13:$SPARK_VERSION.",
          e
        )
    }
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
