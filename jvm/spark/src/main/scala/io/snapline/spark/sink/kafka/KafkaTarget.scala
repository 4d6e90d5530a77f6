package io.snapline.spark.sink.kafka

import java.time.Duration

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import io.snapline.spark.sink._

/** Kafka, with a transaction for each partition of a batch. Its transactional id is that of query, sink and partition,
  * so that Kafka lets one attempt at a time write.
  */
private[kafka] final class KafkaTarget(options: KafkaOptions, columns: KafkaColumns) extends SinkTarget {
  private val clients = KafkaClients(options)

  override def description: String =
    options.topic.fold(s"Kafka at ${options.servers}")(topic => s"the Kafka topic $topic")

  // Kafka's producer goes on by itself when a broker comes back.
  override def keepsRows: Boolean = false

  override def isTransient(failure: Throwable): Boolean = false

  override def begin(sink: SinkId): KnownMarkers = KafkaErrors.told(options) {
    val admin = clients.admin()
    try {
      val logs = new MarkerTopic(options, admin).ready()
      val found = (0 until logs).map(read(sink, _))
      // A topic that got more partitions may have two markers of one key.
      val markers = found.flatMap(_._1).sortBy { case (_, marker) => marker.batch }.toMap
      // Transactions of a run before end now, and consumers need not wait for their timeout.
      admin.fenceProducers(markers.keys.map(MarkerKey(sink, _).text).toSeq.asJava).all().get()
      KnownMarkers(markers, found.map(_._2).zipWithIndex.map(_.swap).toMap)
    } finally admin.close(Duration.ZERO)
  }

  /** All markers of a sink in one log, and the log's end. */
  private def read(sink: SinkId, log: Int): (Map[Int, Marker], Long) = KafkaPools.here.reading(clients) { reader =>
    val markers = mutable.HashMap.empty[Int, Marker]
    val end = reader.read(log, 0L) { (key, value) =>
      MarkerKey.partitionOf(sink, key).foreach(markers.update(_, Marker.parse(value)))
    }
    (markers.toMap, end)
  }

  override def layout: Any = (options, columns)

  // A broker makes topics itself, or an administrator does.
  override def prepare(): Unit = ()

  override def forget(sink: SinkId, batch: Long, known: KnownMarkers): Unit = KafkaErrors.told(options) {
    known.markers.foreach { case (partition, marker) =>
      val key = MarkerKey(sink, partition)
      val lease = KafkaPools.here.fresh(clients, key, run = "")
      try lease.commit(options.markers, key.log(known.positions.size), marker.copy(batch = batch - 1)): Unit
      finally lease.close()
    }
  }

  override def open(batch: SinkBatch, partition: Int): SinkTransaction = KafkaErrors.told(options) {
    val key = MarkerKey(batch.sink, partition)
    val known = batch.known.markers.get(partition)
    val log = key.log(batch.known.positions.size)
    KafkaPools.here.known(options, key, batch.run, known.map(_.batch)) match {
      case Some(lease) => new KafkaTransaction(options, columns, lease, log, known)
      case None =>
        val lease = KafkaPools.here.fresh(clients, key, batch.run)
        try {
          // Another attempt may have been faster; it can write no more.
          val last = newest(key, log, batch.known.positions(log)).orElse(known)
          lease.last = last.map(_.batch)
          new KafkaTransaction(options, columns, lease, log, last)
        } catch {
          case e: Throwable =>
            lease.close()
            throw e
        }
    }
  }

  private def newest(key: MarkerKey, log: Int, from: Long): Option[Marker] =
    KafkaPools.here.reading(clients) { reader =>
      var found = Option.empty[Marker]
      reader.read(log, from)((name, value) => if (name == key.text) found = Some(Marker.parse(value))): Unit
      found
    }
}
