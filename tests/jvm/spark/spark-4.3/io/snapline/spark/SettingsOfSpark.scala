package io.snapline.spark

object SettingsOfSpark {

  /** Those whose wrong values this line of Spark refuses itself, before a store sees them. */
  val checked: Set[String] = Set("spark.sql.streaming.minBatchesToRetain")

  /** State formats of a stream-stream join. */
  val joinFormats: Seq[Int] = 1 to 4

  val hasRowChecksums: Boolean = true
}
