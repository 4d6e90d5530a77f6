package io.snapline.spark.sink.kafka

import org.apache.kafka.clients.producer.{MockProducer, ProducerRecord}
import org.apache.kafka.common.errors.TimeoutException
import org.apache.kafka.common.serialization.ByteArraySerializer
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.spark.sink.{Marker, SinkId}

class ProducerLeaseSpec extends AnyFunSuite {
  private type Bytes = Array[Byte]
  private val marker = Marker(batch = 3, partitions = 2, rows = 1, digest = 7)

  private def producer(): MockProducer[Bytes, Bytes] = {
    val made = new MockProducer[Bytes, Bytes](true, null, new ByteArraySerializer, new ByteArraySerializer)
    made.initTransactions()
    made
  }

  private def lease(producer: MockProducer[Bytes, Bytes], patience: Long) = new ProducerLease(
    KafkaOptions(Some("out"), "markers", Map("delivery.timeout.ms" -> patience.toString)),
    MarkerKey(SinkId("q", "out"), 0),
    "run",
    producer
  )

  test("rows and their marker are in one transaction") {
    val mock = producer()
    val used = lease(mock, 1000)
    used.send(new ProducerRecord("out", Array[Byte](1)))
    assert(mock.history.isEmpty && !used.isIdle)
    used.commit("markers", 0, marker): Unit
    assert(mock.history.size == 2 && mock.history.get(1).topic == "markers")
    assert(used.isIdle && used.last.contains(3L))
  }

  test("a commit that times out goes on, as long as a delivery may take") {
    val mock = producer()
    val used = lease(mock, 200)
    used.send(new ProducerRecord("out", Array[Byte](1)))
    mock.commitTransactionException = new TimeoutException("of a broker that is away")
    val began = System.nanoTime
    assertThrows[TimeoutException](used.commit("markers", 0, marker))
    assert(System.nanoTime - began >= 200L * 1000000)
    assert(!used.isIdle && used.last.isEmpty)
  }
}
