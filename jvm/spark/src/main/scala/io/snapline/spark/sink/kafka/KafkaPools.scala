package io.snapline.spark.sink.kafka

import io.snapline.spark.sink.IdlePool

/** Kafka's clients that an executor keeps between batches, by the settings that they were made with. */
private[kafka] final class KafkaPools {
  private val producers = new IdlePool[(KafkaOptions, MarkerKey), ProducerLease]("producers", KafkaPools.IdleMillis)
  private val readers = new IdlePool[KafkaOptions, MarkerReader]("marker-readers", KafkaPools.IdleMillis)

  /** A producer of this run of the query that knows the partition's last batch: nobody has written since, or it is
    * fenced. None: there is none.
    */
  def known(options: KafkaOptions, key: MarkerKey, run: String, last: Option[Long]): Option[ProducerLease] = {
    val pooled = producers.take((options, key))
    val fits = pooled.filter(lease => lease.run == run && lease.last == last)
    if (fits.isEmpty) pooled.foreach(IdlePool.close)
    fits
  }

  /** A new producer, which fences all others of the partition. */
  def fresh(clients: KafkaClients, key: MarkerKey, run: String): ProducerLease = {
    val producer = clients.producer(key.text)
    try producer.initTransactions()
    catch {
      case e: Throwable =>
        producer.close(java.time.Duration.ZERO)
        throw e
    }
    new ProducerLease(clients.options, key, run, producer)
  }

  def give(lease: ProducerLease): Unit = producers.give((lease.options, lease.key), lease)

  def reading[T](clients: KafkaClients)(body: MarkerReader => T): T = {
    val reader = readers.take(clients.options).getOrElse(new MarkerReader(clients))
    var ended = false
    try {
      val result = body(reader)
      ended = true
      result
    } finally if (ended) readers.give(clients.options, reader) else IdlePool.close(reader)
  }
}

private[kafka] object KafkaPools {
  private val IdleMillis = 5L * 60 * 1000

  /** This executor's. */
  lazy val here: KafkaPools = new KafkaPools
}
