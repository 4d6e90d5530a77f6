package io.snapline.spark.operator.channel

/** What one micro-batch showed a function beside its rows.
  *
  * @param time
  *   of the batch, ms
  * @param watermark
  *   ms; None without one
  */
final case class Segment(batch: Long, time: Long, watermark: Option[Long])
