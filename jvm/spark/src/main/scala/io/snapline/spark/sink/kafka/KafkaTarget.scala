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
      val seen = read(sink, (0 until logs).map(_ -> 0L).toMap)
      // Transactions of a run before end now, and consumers need not wait for their timeout.
      admin.fenceProducers(seen.markers.keys.map(MarkerKey(sink, _).text).toSeq.asJava).all().get()
      // That run may have committed since its markers were read; from here on it cannot.
      val since = read(sink, seen.positions)
      KnownMarkers(seen.markers ++ since.markers, since.positions)
    } finally admin.close(Duration.ZERO)
  }

  /** A sink's markers from a position in each log on, and the ends of the logs. */
  private def read(sink: SinkId, from: Map[Int, Long]): KnownMarkers = KafkaPools.here.reading(clients) { reader =>
    // A topic that got more partitions may have two markers of one key: the later batch counts.
    val markers = mutable.HashMap.empty[Int, Marker]
    val ends = from.map { case (log, position) =>
      val ofLog = mutable.HashMap.empty[Int, Marker]
      val end = reader.read(log, position) { (key, value) =>
        MarkerKey.partitionOf(sink, key).foreach(ofLog.update(_, Marker.parse(value)))
      }
      ofLog.foreach { case (partition, marker) =>
        if (markers.get(partition).forall(_.batch < marker.batch)) markers.update(partition, marker)
      }
      log -> end
    }
    KnownMarkers(markers.toMap, ends)
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
