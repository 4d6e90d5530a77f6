package io.snapline.spark.sink.kafka

import org.apache.spark.sql.catalyst.InternalRow
import org.slf4j.LoggerFactory

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

  override def commit(marker: Marker): Option[MarkerPlace] = {
    val offset = told(lease.commit(options.markers, log, marker))
    warnOfTimeout()
    Some(MarkerPlace(log, offset))
  }

  /** Before the broker aborts one, and the query fails. */
  private def warnOfTimeout(): Unit = {
    val limit = options.transactionTimeout
    if (lease.age > limit / 2) {
      KafkaTransaction.logger.warn(
        s"A transaction of ${lease.key.text} took ${lease.age} ms; after $limit ms the broker aborts it. Set the option " +
          s"kafka.${KafkaOptions.Timeout} above the time that a batch takes."
      )
    }
  }

  private def told[T](body: => T): T = KafkaErrors.told(options, Some(lease.age))(body)

  override def close(): Unit = if (lease.isIdle) KafkaPools.here.give(lease) else lease.close()
}

private object KafkaTransaction {
  private val logger = LoggerFactory.getLogger(classOf[KafkaTransaction])
}
