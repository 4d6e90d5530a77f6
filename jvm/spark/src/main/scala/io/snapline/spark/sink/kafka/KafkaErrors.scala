package io.snapline.spark.sink.kafka

import java.util.concurrent.ExecutionException

import org.apache.kafka.common.KafkaException
import org.apache.kafka.common.errors._

import io.snapline.error.{InvalidConfiguration, QueryTakenOver, SnaplineException, StorageFailure}

/** Kafka's errors as ours, by the action that they ask for. */
private[kafka] object KafkaErrors {

  /** @param age milliseconds that a transaction is open at an error; None: none is */
  def told[T](options: KafkaOptions, age: => Option[Long] = None)(body: => T): T =
    try body
    catch {
      case e: ExecutionException if e.getCause.isInstanceOf[KafkaException] => throw of(options, age, e.getCause)
      case e: InterruptException => throw e
      case e: KafkaException => throw of(options, age, e)
    }

  private def of(options: KafkaOptions, age: Option[Long], e: Throwable): SnaplineException = {
    val where = s"Kafka at ${options.servers}"
    val all = Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(8).toSeq
    def found[A](kind: Class[A]): Boolean = all.exists(kind.isInstance)
    val limit = options.transactionTimeout
    def says(text: String): Boolean = all.exists(each => String.valueOf(each.getMessage).contains(text))
    // The producer has no type for it.
    if (found(classOf[InvalidTxnTimeoutException]) || says("transaction.max.timeout.ms")) new InvalidConfiguration(
      s"$where allows no transaction of $limit ms.",
      s"set the option kafka.${KafkaOptions.Timeout} to at most its transaction.max.timeout.ms, or raise that.",
      e
    )
    else if (isFenced(all) && age.exists(_ >= limit)) new InvalidConfiguration(
      s"$where has aborted a transaction that was open for ${age.get} ms; the limit is $limit ms.",
      s"set the option kafka.${KafkaOptions.Timeout} above the time that a batch takes; or make batches smaller.",
      e
    )
    else if (isFenced(all)) new QueryTakenOver(
      s"Another attempt writes this partition to $where.",
      "nothing if Spark retries or speculates; else stop the other query of this checkpoint folder.",
      e
    )
    else if (found(classOf[AuthorizationException]) || found(classOf[AuthenticationException])) new StorageFailure(
      s"$where refuses: ${all.map(_.getMessage).find(_ != null).getOrElse("")}",
      "allow WRITE on the topics, READ on the topic of markers, and WRITE on transactional ids that begin with snapline-.",
      e
    )
    else if (says("InitProducerId")) new StorageFailure(
      s"$where begins no transaction: ${e.getMessage}",
      "see that the broker answers, and that its topic __transaction_state can have the replicas that it is set to " +
        "(transaction.state.log.replication.factor is 3 by default).",
      e
    )
    else new StorageFailure(
      s"$where failed: ${all.map(_.getMessage).filter(_ != null).distinct.mkString("; ")}",
      "see that the broker answers and the topic is there.",
      e
    )
  }

  private def isFenced(all: Seq[Throwable]): Boolean = all.exists {
    case _: ProducerFencedException | _: InvalidProducerEpochException | _: InvalidPidMappingException |
        _: InvalidTxnStateException => true
    case _ => false
  }
}
