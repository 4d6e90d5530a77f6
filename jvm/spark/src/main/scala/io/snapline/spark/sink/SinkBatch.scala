package io.snapline.spark.sink

/** One micro-batch of a sink, as its tasks get it.
  *
  * @param target
  *   the system that it goes to
  * @param run
  *   id of the query's run
  * @param number
  *   the micro-batch's number
  * @param partitions
  *   how many it has
  * @param known
  *   markers after the micro-batch before
  * @param warnsOfDifference
  *   whether rows that differ from those written before are only warned of
  */
private[sink] final case class SinkBatch(
    target: SinkTarget,
    sink: SinkId,
    run: String,
    number: Long,
    partitions: Int,
    known: KnownMarkers,
    warnsOfDifference: Boolean
)
