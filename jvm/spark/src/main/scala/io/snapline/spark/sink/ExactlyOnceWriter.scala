package io.snapline.spark.sink

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.write.{DataWriter, WriterCommitMessage}
import org.apache.spark.sql.types.StructType
import org.slf4j.LoggerFactory

import io.snapline.error.{FunctionNotDeterministic, IncompatibleState}

/** The partition's state after its task. The driver learns markers by it.
  *
  * @param marker
  *   None: the partition had no row
  * @param place
  *   the marker's place; None: the sink had it, or its markers have no log
  * @param skipped
  *   whether the sink had it
  */
private[sink] final case class Written(
    partition: Int,
    marker: Option[Marker],
    place: Option[MarkerPlace],
    skipped: Boolean
) extends WriterCommitMessage

/** Writes the rows of one partition in one transaction with its marker, unless the sink has them. All rows are read
  * either way: state is made of them. Used by one task's thread, which closes it.
  */
private[sink] final class ExactlyOnceWriter(batch: SinkBatch, partition: Int, schema: StructType)
    extends DataWriter[InternalRow] {
  import ExactlyOnceWriter._

  private val target = batch.target
  private val digest = new RowDigest(schema)
  private val kept = new KeptRows(target.keepsRows)
  private var transaction: SinkTransaction = _
  private var isThere = false
  private var retries = 0
  private var nanos = 0L

  override def write(row: InternalRow): Unit = {
    digest.add(row)
    kept.add(row)
    if (transaction == null) {
      retrying {
        begin()
        if (!isThere && !kept.isWhole) transaction.write(row)
      }
    } else if (!isThere) retrying(transaction.write(row))
  }

  override def commit(): WriterCommitMessage = {
    val marker = Marker(batch.number, batch.partitions, digest.rows, digest.value)
    if (digest.rows == 0) {
      batch.known.markers.get(partition).filter(_.batch == batch.number).foreach(checkSame(_, marker))
      Written(partition, None, None, skipped = false)
    } else {
      val began = System.nanoTime
      val place = commit(marker)
      nanos = System.nanoTime - began
      Written(partition, Some(marker), place, isThere)
    }
  }

  /** A commit of which nobody knows whether it came through is looked up, and done again if it did not. */
  private def commit(marker: Marker, last: Exception = null): Option[MarkerPlace] =
    try {
      if (transaction == null) {
        begin()
        if (!isThere && !kept.isWhole) throw last
      }
      if (isThere) {
        checkSame(transaction.last.get, marker)
        None
      } else transaction.commit(marker)
    } catch {
      case failure: Exception if (failure ne last) && mayRetry(failure) =>
        pause(failure)
        commit(marker, failure)
    }

  /** Begins a transaction, with the rows that are kept. */
  private def begin(): Unit = {
    transaction = target.open(batch, partition)
    isThere = transaction.last.exists(_.batch >= batch.number)
    transaction.last.filter(_.batch > batch.number).foreach { marker =>
      throw new IncompatibleState(
        s"Partition $partition of ${batch.sink} in ${target.description} has batch ${marker.batch}, and batch " +
          s"${batch.number} was to be written: another query writes as this one.",
        "stop the other query; begin a copy of a query with a savepoint, so that it is another one."
      )
    }
    if (!isThere && kept.isWhole) kept.foreach(transaction.write)
  }

  private def retrying(step: => Unit): Unit =
    try step
    catch {
      case failure: Exception if mayRetry(failure) && kept.isWhole =>
        pause(failure)
        retrying(begin())
    }

  private def mayRetry(failure: Exception): Boolean = retries < MostRetries && target.isTransient(failure)

  private def pause(failure: Exception): Unit = {
    retries += 1
    log.warn(s"Partition $partition of batch ${batch.number} begins again in ${target.description}.", failure)
    release()
    Thread.sleep(target.retryMillis << math.min(retries - 1, MostDoublings))
  }

  private def checkSame(there: Marker, now: Marker): Unit = if (there != now) {
    val found = s"Partition $partition of batch ${batch.number} is in ${target.description} with ${there.rows} rows " +
      s"(digest ${Marker.hex(there.digest)}, ${there.partitions} partitions), and was now made with ${now.rows} rows " +
      s"(digest ${Marker.hex(now.digest)}, ${now.partitions} partitions)."
    if (batch.warnsOfDifference) log.warn(s"$found The rows that are there stay.")
    else throw new FunctionNotDeterministic(
      found,
      "make the query give the same rows for the same input; or set the option difference to warn, and the rows that " +
        "are there stay."
    )
  }

  override def abort(): Unit = release()

  override def close(): Unit = release()

  private def release(): Unit = if (transaction != null) {
    val ended = transaction
    transaction = null
    ended.close()
  }

  override def currentMetricsValues(): Array[CustomTaskMetric] = SinkMetrics.ofTask(
    rows = if (isThere) 0 else digest.rows,
    skipped = if (isThere) digest.rows else 0,
    retries = retries,
    commitMillis = nanos / 1000000
  )
}

private object ExactlyOnceWriter {
  private val log = LoggerFactory.getLogger(classOf[ExactlyOnceWriter])
  private val MostRetries = 8
  private val MostDoublings = 6
}
