package io.snapline.spark.ui

import scala.annotation.meta.getter

import org.apache.spark.util.kvstore.KVIndex

import io.snapline.checkpoint._
import io.snapline.checkpoint.history.{CheckpointFigures, CheckpointStatistics, CheckpointStatus}
import io.snapline.error.UriPassword

/** One checkpoint, as it is or as it ended.
  *
  * @param key
  *   in the order of a start's checkpoints
  */
final case class CheckpointRecord(
    @(KVIndex @getter) key: String,
    start: String,
    id: Long,
    statusName: String,
    propertiesName: String,
    savepoint: Boolean,
    batch: Long,
    triggeredMs: Long,
    latestAckMs: Long,
    endedMs: Long,
    checkpointedSize: Long,
    stateSize: Long,
    inFlightSize: Long,
    storeCount: Int,
    ackedCount: Int,
    discarded: Boolean,
    failureReason: Option[String],
    failureMessage: Option[String],
    operators: Seq[OperatorRecord]
) extends CheckpointFigures {
  def inProgress: Boolean = statusName == CheckpointStatus.InProgress.name
  override def failed: Option[(String, String)] = failureReason.map(_ -> failureMessage.getOrElse(""))
}

object CheckpointRecord {
  def key(start: String, id: Long): String = f"$start/$id%019d"

  def of(start: String, s: CheckpointStatistics, names: Map[Long, String]): CheckpointRecord = CheckpointRecord(
    key(start, s.id),
    start,
    s.id,
    s.statusName,
    s.propertiesName,
    s.savepoint,
    s.batch,
    s.triggeredMs,
    s.latestAckMs,
    s.endedMs,
    s.checkpointedSize,
    s.stateSize,
    s.inFlightSize,
    s.storeCount,
    s.ackedCount,
    s.discarded,
    s.failed.map(_._1),
    s.failed.map { case (_, message) => UriPassword.hide(message).take(LongestMessage) },
    OperatorRecord.of(s.checkpoint, names)
  )

  /** A message with the stack trace of an executor can be of any length. */
  private val LongestMessage = 10000
}

/** One operator's part in a checkpoint. */
final case class OperatorRecord(
    id: Long,
    name: String,
    storeCount: Int,
    ackedCount: Int,
    latestAckMs: Long,
    checkpointedSize: Long,
    stateSize: Long,
    inFlightSize: Long
)

object OperatorRecord {
  def of(p: PendingCheckpoint, names: Map[Long, String]): Seq[OperatorRecord] =
    p.expected.groupBy(_.operator).toSeq.sortBy(_._1).map { case (operator, stores) =>
      val acked = stores.toSeq.flatMap(p.acked.get)
      OperatorRecord(
        operator,
        names.getOrElse(operator, ""),
        stores.size,
        acked.size,
        acked.map(_.atMs).maxOption.getOrElse(-1L),
        acked.map(_.handle.incrementalBytes).sum,
        acked.map(_.handle.fullBytes).sum,
        acked.map(_.handle.inFlightBytes).sum
      )
    }
}
