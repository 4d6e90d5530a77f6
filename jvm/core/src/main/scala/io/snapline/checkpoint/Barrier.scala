package io.snapline.checkpoint

/** What a batch is planned with.
  *
  * @param checkpoint
  *   to be taken at the batch's end
  */
final case class Barrier(checkpoint: Option[Long], actions: Seq[Action])
