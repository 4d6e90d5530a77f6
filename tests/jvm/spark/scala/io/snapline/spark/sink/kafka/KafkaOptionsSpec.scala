package io.snapline.spark.sink.kafka

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.InvalidConfiguration
import io.snapline.spark.sink.SinkId

class KafkaOptionsSpec extends AnyFunSuite {
  private def options(set: (String, String)*): KafkaOptions =
    KafkaOptions(new CaseInsensitiveStringMap((set :+ ("kafka.bootstrap.servers" -> "host:1")).toMap.asJava))

  test("Kafka's settings go on with the case that they have") {
    val made = options("topic" -> " out ", "kafka.ssl.truststore.location" -> "/x", "checkpointLocation" -> "/c")
    assert(made.topic.contains("out") && made.markers == "snapline-markers" && made.servers == "host:1")
    assert(made.clients == Map("bootstrap.servers" -> "host:1", "ssl.truststore.location" -> "/x"))
    assert(made.transactionTimeout == 900000)
    assert(made.deliveryTimeout == 120000)
    assert(options("kafka.transaction.timeout.ms" -> "5000").transactionTimeout == 5000)
    assert(options("kafka.delivery.timeout.ms" -> "5000").deliveryTimeout == 5000)
  }

  test("an option that nobody reads, or that the sink sets itself, is refused") {
    Seq(
      "topics" -> "x",
      "kafka.acks" -> "1",
      "kafka.transactional.id" -> "x",
      "kafka.enable.idempotence" -> "false",
      "kafka.transaction.timeout.ms" -> "long",
      "kafka.delivery.timeout.ms" -> "0",
      "rewrite" -> "x"
    ).foreach { option =>
      withClue(option)(assertThrows[InvalidConfiguration] {
        val made = new CaseInsensitiveStringMap(Map(option, "kafka.bootstrap.servers" -> "host:1").asJava)
        KafkaOptions(made)
        io.snapline.spark.sink.SinkOptions(made)
      })
    }
    assertThrows[InvalidConfiguration](KafkaOptions(CaseInsensitiveStringMap.empty))
  }

  test("keys of markers stay as they are, and tell sinks apart") {
    val sink = SinkId("q-1", "out")
    val key = MarkerKey(sink, 12)
    assert(key.text == "snapline-q-1-out-12" && key.log(8) == 7)
    assert(MarkerKey.partitionOf(sink, key.text).contains(12))
    assert(MarkerKey.partitionOf(SinkId("q-1", "out-1"), MarkerKey(SinkId("q-1", "out"), 1).text).isEmpty)
    assert(MarkerKey.partitionOf(SinkId("q-1", "out"), MarkerKey(SinkId("q-1", "out-1"), 2).text).isEmpty)
    assert(MarkerKey.partitionOf(SinkId("q-2", "out"), key.text).isEmpty)
  }
}
