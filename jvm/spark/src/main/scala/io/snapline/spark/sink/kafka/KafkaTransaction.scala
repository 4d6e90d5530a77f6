package io.snapline.spark.sink.kafka

import org.apache.spark.sql.catalyst.InternalRow

import io.snapline.spark.sink._

/** One partition of a batch in one transaction of Kafka. */
private[kafka] final class KafkaTransaction(
    options: KafkaOptions,
    columns: KafkaColumns,
    lease: ProducerLease,
    log: Int,
    override val last: Option[Marker]
) extends SinkTransaction {

  override def write(row: InternalRow): Unit = told(lease.send(columns.record(row)))

  override def commit(marker: Marker): Option[MarkerPlace] =
    Some(MarkerPlace(log, told(lease.commit(options.markers, log, marker))))

  private def told[T](body: => T): T = KafkaErrors.told(options, Some(lease.age))(body)

  override def close(): Unit = if (lease.isIdle) KafkaPools.here.give(lease) else lease.close()
}
