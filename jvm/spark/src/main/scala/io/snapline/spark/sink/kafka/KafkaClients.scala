package io.snapline.spark.sink.kafka

import java.util.Properties

import org.apache.kafka.clients.admin.Admin
import org.apache.kafka.clients.consumer.KafkaConsumer
import org.apache.kafka.clients.producer.KafkaProducer
import org.apache.kafka.common.serialization.{ByteArrayDeserializer, ByteArraySerializer}

import io.snapline.error.InvalidConfiguration

/** Kafka's clients with the settings that exactly-once is made of. Each belongs to the caller. */
private[kafka] final case class KafkaClients(options: KafkaOptions) {
  type Bytes = Array[Byte]

  def producer(transactionalId: String): KafkaProducer[Bytes, Bytes] = {
    val settings = properties(
      "transactional.id" -> transactionalId,
      "enable.idempotence" -> "true",
      "acks" -> "all",
      "key.serializer" -> classOf[ByteArraySerializer].getName,
      "value.serializer" -> classOf[ByteArraySerializer].getName
    )
    // Rows leave at the commit at the latest: requests may as well be large.
    val defaults =
      Seq("linger.ms" -> "5", "batch.size" -> "131072", KafkaOptions.Timeout -> options.transactionTimeout.toString)
    defaults.foreach { case (name, value) => settings.putIfAbsent(name, value) }
    inOwnLoader(new KafkaProducer(settings))
  }

  /** @param committed whether it passes over records of aborted transactions, and waits for those of open ones */
  def consumer(committed: Boolean): KafkaConsumer[Bytes, Bytes] = inOwnLoader(new KafkaConsumer(properties(
    "isolation.level" -> (if (committed) "read_committed" else "read_uncommitted"),
    "enable.auto.commit" -> "false",
    "auto.offset.reset" -> "earliest",
    "key.deserializer" -> classOf[ByteArrayDeserializer].getName,
    "value.deserializer" -> classOf[ByteArrayDeserializer].getName
  )))

  def admin(): Admin = inOwnLoader(Admin.create(properties()))

  private def properties(fixed: (String, String)*): Properties = {
    val all = new Properties()
    (options.clients ++ fixed).foreach { case (name, value) => all.setProperty(name, value) }
    all
  }

  /** Kafka loads classes by name through the thread's loader, which may not be the one that has Kafka. */
  private def inOwnLoader[T](make: => T): T = {
    val thread = Thread.currentThread
    val before = thread.getContextClassLoader
    thread.setContextClassLoader(getClass.getClassLoader)
    try make
    catch {
      case e: org.apache.kafka.common.config.ConfigException =>
        throw new InvalidConfiguration(s"Kafka refuses a setting: ${e.getMessage}", "set it as the message says.", e)
    } finally thread.setContextClassLoader(before)
  }
}
