package io.snapline.spark.provider

import io.snapline.snapshot.upload.{OwedCheckpoint, SnapshotListener}

/** A store's duties for checkpoints when its task commits.
  *
  * @param now
  *   a snapshot of the version committed
  * @param owed
  *   a snapshot of that version or of a later one
  */
private[spark] final case class CheckpointPart(now: Option[SnapshotListener], owed: Option[OwedCheckpoint])

private[spark] object CheckpointPart {
  val Empty: CheckpointPart = CheckpointPart(None, None)
}
