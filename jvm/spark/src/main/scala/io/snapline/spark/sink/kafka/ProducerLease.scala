package io.snapline.spark.sink.kafka

import java.nio.charset.StandardCharsets.UTF_8
import java.time.Duration
import java.util.concurrent.atomic.AtomicLong

import scala.util.control.NonFatal

import org.apache.kafka.clients.producer.{Producer, ProducerRecord, RecordMetadata}
import org.apache.kafka.common.errors.TimeoutException

import io.snapline.spark.sink.Marker

/** A transactional producer of one partition of a sink. It belongs to the task that has it, or else to the pool.
  *
  * Kafka fences every other producer of the same partition when this one is made, and this one when another is.
  */
private[kafka] final class ProducerLease(
    val options: KafkaOptions,
    val key: MarkerKey,
    val run: String,
    producer: Producer[Array[Byte], Array[Byte]]
) extends AutoCloseable {

  /** The batch of the marker that the partition has, as far as this producer knows. */
  var last: Option[Long] = None
  private var began = 0L
  private var isOpen = false
  @volatile private var failure: Exception = _

  /** Milliseconds since the transaction began. */
  def age: Long = (System.nanoTime - began) / 1000000

  def send(record: ProducerRecord[Array[Byte], Array[Byte]]): Unit = {
    begin()
    if (failure != null) throw failure
    producer.send(record, (_: RecordMetadata, e: Exception) => if (e != null && failure == null) failure = e): Unit
  }

  /** Ends the transaction with its marker.
    *
    * @return
    *   the marker's offset
    */
  def commit(topic: String, log: Int, marker: Marker): Long = {
    val sent = new AtomicLong(-1)
    val record = new ProducerRecord(topic, Integer.valueOf(log), key.bytes, marker.json.getBytes(UTF_8))
    begin()
    producer.send(record, (placed: RecordMetadata, e: Exception) => if (e == null) sent.set(placed.offset)): Unit
    try commitPatiently()
    catch { case NonFatal(e) => throw Option(failure).getOrElse(e) }
    isOpen = false
    last = Some(marker.batch)
    sent.get
  }

  private def begin(): Unit = if (!isOpen) {
    producer.beginTransaction()
    began = System.nanoTime
    isOpen = true
  }

  /** The same call again after a timeout goes on with the same commit. Not for ever: of a topic that was deleted the
    * producer says nothing, and waits.
    */
  private def commitPatiently(): Unit = {
    val deadline = System.nanoTime + options.deliveryTimeout * 1000000
    var ended = false
    while (!ended) {
      try {
        producer.commitTransaction()
        ended = true
      } catch { case _: TimeoutException if System.nanoTime < deadline => () }
    }
  }

  def isIdle: Boolean = !isOpen

  /** Aborts what is open, so that consumers need not wait for its timeout. */
  override def close(): Unit = {
    if (isOpen) {
      try producer.abortTransaction()
      catch { case NonFatal(_) => () } // fenced, or the broker is away: the next producer of the partition aborts it
    }
    producer.close(Duration.ZERO)
  }
}
