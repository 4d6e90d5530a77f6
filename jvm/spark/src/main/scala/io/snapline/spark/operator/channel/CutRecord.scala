package io.snapline.spark.operator.channel

/** Where a partition's task stopped in a micro-batch. */
private[operator] sealed trait CutRecord

private[operator] object CutRecord {

  /** Nowhere: all rows were processed, and no attempt may say anything else. */
  case object Whole extends CutRecord

  /** In the segment of an earlier batch, or at the very beginning of one; all that comes after waits too.
    *
    * @param processed
    *   rows of it that were processed in this batch
    */
  final case class At(batch: Long, processed: Long) extends CutRecord

  /** Among the batch's own rows: these wait. Their order is not said, because the shuffle brings them in another each
    * time.
    */
  final case class Within(left: Seq[RowIdentity]) extends CutRecord
}
