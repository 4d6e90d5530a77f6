package io.snapline.checkpoint.history

import io.snapline.checkpoint.{FailureReason, PendingCheckpoint}

/** The figures of a checkpoint as the coordinator has them.
  *
  * @param checkpoint
  *   as it was when it came to its end, or as it is
  * @param ended
  *   when it completed or failed
  */
final case class CheckpointStatistics(
    checkpoint: PendingCheckpoint,
    status: CheckpointStatus,
    ended: Option[Long] = None,
    failure: Option[(FailureReason, String)] = None,
    metadataBytes: Long = 0,
    discarded: Boolean = false
) extends CheckpointFigures {
  override def id: Long = checkpoint.id
  override def statusName: String = status.name
  override def propertiesName: String = checkpoint.properties.name
  override def savepoint: Boolean = checkpoint.properties.isSavepoint
  override def batch: Long = checkpoint.batch
  override def triggeredMs: Long = checkpoint.triggeredMs
  override def latestAckMs: Long = checkpoint.latestAckMs.getOrElse(-1L)
  override def endedMs: Long = ended.getOrElse(-1L)

  // Sums over all partitions, asked for again and again while it stands in the history.
  override lazy val checkpointedSize: Long = checkpoint.acked.values.map(_.handle.incrementalBytes).sum + metadataBytes
  override lazy val stateSize: Long = checkpoint.acked.values.map(_.handle.fullBytes).sum
  override lazy val inFlightSize: Long = checkpoint.acked.values.map(_.handle.inFlightBytes).sum
  override def storeCount: Int = checkpoint.expected.size
  override def ackedCount: Int = checkpoint.acked.size
  override def failed: Option[(String, String)] = failure.map { case (reason, message) => (reason.name, message) }
}
