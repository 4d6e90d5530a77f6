package io.snapline.checkpoint.history

/** Percentiles of some values: the smallest value that the given share of all does not exceed. Of no values all are
  * zero.
  */
final class Percentiles private (sorted: Array[Long]) {
  def apply(share: Double): Long =
    if (sorted.isEmpty) 0 else sorted(math.max(0, math.ceil(share * sorted.length).toInt - 1))

  def named: Seq[(String, Long)] = Percentiles.Shares.map { case (name, share) => name -> apply(share) }
}

object Percentiles {

  /** Those that Flink shows, under its names. */
  val Shares: Seq[(String, Double)] = Seq("p50" -> 0.5, "p90" -> 0.9, "p95" -> 0.95, "p99" -> 0.99, "p999" -> 0.999)

  def apply(values: Seq[Long]): Percentiles = {
    val sorted = values.toArray
    java.util.Arrays.sort(sorted)
    new Percentiles(sorted)
  }
}
