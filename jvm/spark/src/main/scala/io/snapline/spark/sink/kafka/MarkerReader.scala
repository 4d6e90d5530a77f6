package io.snapline.spark.sink.kafka

import java.nio.charset.StandardCharsets.UTF_8
import java.time.Duration

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.{ConsumerRecord, KafkaConsumer}
import org.apache.kafka.common.TopicPartition
import org.slf4j.LoggerFactory

import io.snapline.error.StorageFailure

/** Reads markers up to the end of their log. Used by one thread at a time, which closes it or gives it back.
  *
  * A marker that is committed lies behind one of another partition whose transaction is open yet; consumers see neither
  * until that one ends. A transaction that does not end is fenced: its task begins again.
  */
private[kafka] final class MarkerReader(clients: KafkaClients) extends AutoCloseable {
  private type Bytes = Array[Byte]

  private val committed = clients.consumer(committed = true)
  private val every = clients.consumer(committed = false)

  /** Calls `each` with key and value of every marker from a position on.
    *
    * @return
    *   the position behind the last one
    */
  def read(log: Int, from: Long)(each: (String, String) => Unit): Long = {
    val place = new TopicPartition(clients.options.markers, log)
    val places = java.util.List.of(place)
    committed.assign(places)
    val end = every.endOffsets(places).get(place).longValue
    val begin = math.max(from, committed.beginningOffsets(places).get(place).longValue)
    committed.seek(place, begin)
    val deadline = System.nanoTime + MarkerReader.LongestNanos
    var moved = System.nanoTime
    var at = begin
    while (at < end) {
      committed.poll(MarkerReader.Poll).forEach { (record: ConsumerRecord[Bytes, Bytes]) =>
        if (record.value != null) each(new String(record.key, UTF_8), new String(record.value, UTF_8))
      }
      val now = committed.position(place)
      if (now > at) {
        at = now
        moved = System.nanoTime
      } else if (System.nanoTime > deadline) throw new StorageFailure(
        s"Markers in partition $log of the topic ${clients.options.markers} cannot be read: a transaction does not end.",
        "look at the broker; kafka-transactions.sh lists open transactions."
      )
      else if (System.nanoTime - moved > MarkerReader.PatienceNanos) {
        fence(place, at)
        moved = System.nanoTime
      }
    }
    math.max(at, end)
  }

  /** Ends the transaction of the first marker that is not readable. */
  private def fence(place: TopicPartition, at: Long): Unit = {
    every.assign(java.util.List.of(place))
    every.seek(place, at)
    every.poll(MarkerReader.Poll).asScala.headOption.foreach { record =>
      val holder = new String(record.key, UTF_8)
      MarkerReader.log.warn(s"The transaction of $holder is open for long, and markers behind its own are waited for.")
      val admin = clients.admin()
      try admin.fenceProducers(java.util.List.of(holder)).all().get(): Unit
      finally admin.close(Duration.ZERO)
    }
  }

  override def close(): Unit = Seq[KafkaConsumer[Bytes, Bytes]](committed, every).foreach(_.close(Duration.ZERO))
}

private object MarkerReader {
  private val log = LoggerFactory.getLogger(classOf[MarkerReader])
  private val Poll = Duration.ofMillis(100)
  private val PatienceNanos = 5L * 1000000000
  private val LongestNanos = 120L * 1000000000
}
