package io.snapline.spark.sink.kafka

import java.util.Locale

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.snapline.error.InvalidConfiguration
import io.snapline.spark.sink.SinkOptions

/** Options of the Kafka sink. Those of clients have Kafka's names behind `kafka.`, as Spark's sink has them.
  *
  * @param topic
  *   the topic of all rows; None: the column `topic` says it
  * @param markers
  *   the topic of the markers
  * @param clients
  *   settings of producers, consumers and the admin client
  */
private[kafka] final case class KafkaOptions(topic: Option[String], markers: String, clients: Map[String, String]) {
  def servers: String = clients(KafkaOptions.Servers)

  /** Milliseconds after which the broker aborts a transaction. */
  def transactionTimeout: Long = millis(KafkaOptions.Timeout, KafkaOptions.LongestByDefault)

  /** Milliseconds that a commit waits for a broker that does not answer, or for a topic that is not there. */
  def deliveryTimeout: Long = millis(KafkaOptions.Delivery, KafkaOptions.DeliveryByDefault)

  private def millis(name: String, otherwise: Long): Long = clients.get(name).fold(otherwise) { text =>
    text.toLongOption.filter(_ > 0).getOrElse(
      throw new InvalidConfiguration(s"kafka.$name is $text.", "give a number of milliseconds.")
    )
  }
}

private[kafka] object KafkaOptions {
  val Topic = "topic"
  val Markers = "markersTopic"
  val DefaultMarkers = "snapline-markers"
  val Servers = "bootstrap.servers"
  val Timeout = "transaction.timeout.ms"
  val Delivery = "delivery.timeout.ms"
  private val Prefix = "kafka."

  /** The broker's own limit by default (transaction.max.timeout.ms). */
  val LongestByDefault = 900000L

  /** As Kafka's producer has it. */
  private val DeliveryByDefault = 120000L

  /** Settings that exactly-once is made of. */
  private val Fixed = Seq(
    "transactional.id",
    "enable.idempotence",
    "acks",
    "isolation.level",
    "key.serializer",
    "value.serializer",
    "group.id"
  )

  def apply(options: CaseInsensitiveStringMap): KafkaOptions = {
    SinkOptions.check(KafkaSink.Name, options, Seq(Topic, Markers, s"$Prefix*"), _.startsWith(Prefix))
    val clients = options.asCaseSensitiveMap.asScala.toMap.collect {
      case (name, value) if name.toLowerCase(Locale.ROOT).startsWith(Prefix) => name.substring(Prefix.length) -> value
    }
    if (!clients.contains(Servers)) {
      throw new InvalidConfiguration("The sink has no broker.", s"set the option $Prefix$Servers.")
    }
    Fixed.filter(clients.contains).foreach { name =>
      throw new InvalidConfiguration(
        s"The option $Prefix$name is ${clients(name)}; the sink sets $name itself.",
        "leave it out."
      )
    }
    def text(name: String): Option[String] = Option(options.get(name)).map(_.trim).filter(_.nonEmpty)
    val made = KafkaOptions(text(Topic), text(Markers).getOrElse(DefaultMarkers), clients)
    made.transactionTimeout
    made.deliveryTimeout
    made
  }
}
