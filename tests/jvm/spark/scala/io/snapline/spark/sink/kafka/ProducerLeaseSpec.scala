package io.snapline.spark.sink.kafka

import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.ExecutionException

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.producer.{MockProducer, ProducerRecord}
import org.apache.kafka.common.KafkaException
import org.apache.kafka.common.errors._
import org.apache.kafka.common.serialization.ByteArraySerializer
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.{InvalidConfiguration, QueryTakenOver, SnaplineException, StorageFailure}
import io.snapline.spark.sink.{Marker, SinkId}

class ProducerLeaseSpec extends AnyFunSuite {
  private val options = KafkaOptions(Some("out"), "markers", Map("bootstrap.servers" -> "host:1"))
  private val key = MarkerKey(SinkId("query", "out"), 3)
  private val marker = Marker(7, 4, 2, 99)

  private def producer(): MockProducer[Array[Byte], Array[Byte]] = {
    val made = new MockProducer(true, new ByteArraySerializer, new ByteArraySerializer)
    made.initTransactions()
    made
  }

  private def row(value: String): ProducerRecord[Array[Byte], Array[Byte]] =
    new ProducerRecord("out", value.getBytes(UTF_8))

  private def sent(producer: MockProducer[Array[Byte], Array[Byte]]): Seq[(String, String)] =
    producer.history.asScala.map(record => record.topic -> new String(record.value, UTF_8)).toSeq

  test("rows and marker are in one transaction, the marker last") {
    val mock = producer()
    val lease = new ProducerLease(options, key, "run", mock)
    lease.send(row("a"))
    lease.send(row("b"))
    assert(sent(mock).isEmpty && !lease.isIdle)
    lease.commit("markers", 5, marker): Unit
    assert(sent(mock) == Seq("out" -> "a", "out" -> "b", "markers" -> marker.json))
    assert(new String(mock.history.get(2).key, UTF_8) == key.text && mock.history.get(2).partition == 5)
    assert(lease.isIdle && lease.last.contains(7L))
  }

  test("a task that ends without a commit aborts its transaction") {
    val mock = producer()
    val lease = new ProducerLease(options, key, "run", mock)
    lease.send(row("a"))
    lease.close()
    assert(mock.transactionAborted && mock.closed && sent(mock).isEmpty)
  }

  test("a row that the broker refuses fails the commit, and nothing is there") {
    val mock = new MockProducer(false, new ByteArraySerializer, new ByteArraySerializer)
    mock.initTransactions()
    val lease = new ProducerLease(options, key, "run", mock)
    lease.send(row("a"))
    mock.errorNext(new RecordTooLargeException("too large"))
    assert(intercept[RecordTooLargeException](lease.send(row("b"))).getMessage == "too large")
    lease.close()
    assert(sent(mock).isEmpty)
  }

  test("a producer that was fenced fails, and is told by what is to be done") {
    val mock = producer()
    val lease = new ProducerLease(options, key, "run", mock)
    lease.send(row("a"))
    mock.fenceProducer()
    assertThrows[QueryTakenOver](KafkaErrors.told(options, Some(lease.age))(lease.commit("markers", 0, marker)))
    assert(sent(mock).isEmpty)
  }

  private def told(failure: Exception, age: Option[Long] = None): SnaplineException =
    intercept[SnaplineException](KafkaErrors.told(options, age)(throw failure))

  test("Kafka's errors by what is to be done") {
    assert(told(new ProducerFencedException("x")).isInstanceOf[QueryTakenOver])
    val late = told(new KafkaException("x", new InvalidProducerEpochException("y")), Some(900000))
    assert(late.isInstanceOf[InvalidConfiguration] && late.action.contains("transaction.timeout.ms"))
    assert(told(new InvalidTxnTimeoutException("x")).isInstanceOf[InvalidConfiguration])
    assert(told(new ExecutionException(new TopicAuthorizationException("t"))).action.contains("WRITE"))
    val begins = told(new TimeoutException("Timeout expired after 60000ms while awaiting InitProducerId"))
    assert(begins.isInstanceOf[StorageFailure] && begins.action.contains("__transaction_state"))
    assert(told(new TimeoutException("Topic out not present in metadata")).found.contains("Topic out not present"))
  }

  test("an interrupt stays what it is: the task was killed") {
    assertThrows[InterruptException](KafkaErrors.told(options)(throw new InterruptException("x")))
    assert(Thread.interrupted())
  }
}
