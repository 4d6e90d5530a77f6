package io.snapline.spark.protocol

/** What a partition's broadcast states came to in a micro-batch.
  *
  * @param run
  *   of the query
  * @param version
  *   that the micro-batch makes
  * @param sums
  *   by state: number of entries and checksum
  */
final case class BroadcastReport(
    run: String,
    operator: Long,
    version: Long,
    partition: Int,
    sums: Seq[(String, Long, Long)]
)
