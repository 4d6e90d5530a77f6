package io.snapline.spark.operator

import scala.util.Try

import io.snapline.error.InvalidConfiguration

/** Bounds of what is under way and of what the worker holds.
  *
  * @param maxKeys
  *   keys of an epoch
  * @param maxBytes
  *   bytes of state the worker holds in an epoch
  * @param chunkRows
  *   rows that travel together
  * @param arrowChunkRows
  *   the same for `process_arrow`
  * @param maxPrefetch
  *   entries of one list or map that are sent ahead
  */
final case class ExchangeLimits(
    maxKeys: Int,
    maxBytes: Long,
    chunkRows: Int,
    arrowChunkRows: Int,
    maxPrefetch: Int
)

object ExchangeLimits {
  val MaxKeys = "spark.snapline.python.cache.maxKeys"
  val MaxBytes = "spark.snapline.python.cache.maxBytes"
  val ChunkRows = "spark.snapline.python.chunkRows"
  val ArrowChunkRows = "spark.snapline.python.arrow.chunkRows"
  val MaxPrefetch = "spark.snapline.python.maxPrefetch"

  def read(get: String => Option[String]): ExchangeLimits = {
    def number(name: String, default: Long, least: Long, most: Long): Long = get(name) match {
      case None => default
      case Some(text) =>
        Try(text.trim.toLong).toOption.filter(n => n >= least && n <= most).getOrElse {
          throw new InvalidConfiguration(s"$name is '$text'.", s"set it to a whole number from $least to $most.")
        }
    }
    ExchangeLimits(
      number(MaxKeys, 200000, 1, 100000000).toInt,
      number(MaxBytes, 64L << 20, 1, Long.MaxValue),
      number(ChunkRows, 10000, 1, 1000000).toInt,
      number(ArrowChunkRows, 200000, 1, 10000000).toInt,
      number(MaxPrefetch, 1000, 0, 1000000).toInt
    )
  }
}
