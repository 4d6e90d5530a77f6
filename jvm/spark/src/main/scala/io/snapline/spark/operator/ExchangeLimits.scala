package io.snapline.spark.operator

import io.snapline.spark.SettingValues

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
  private val Prefix = "spark.snapline.python."
  val MaxKeys: String = Prefix + "cache.max-keys"
  val MaxBytes: String = Prefix + "cache.max-bytes"
  val ChunkRows: String = Prefix + "chunk-rows"
  val ArrowChunkRows: String = Prefix + "arrow.chunk-rows"
  val MaxPrefetch: String = Prefix + "max-prefetch"

  val names: Set[String] = Set(MaxKeys, MaxBytes, ChunkRows, ArrowChunkRows, MaxPrefetch)

  def read(get: String => Option[String]): ExchangeLimits = {
    val values = new SettingValues(names.flatMap(name => get(name).map(name -> _)).toMap)
    ExchangeLimits(
      maxKeys = values.number(MaxKeys, 200000, 1, 100000000),
      maxBytes = values.size(MaxBytes, 64L << 20, 1L << 20, 1L << 40),
      chunkRows = values.number(ChunkRows, 10000, 1, 1000000),
      arrowChunkRows = values.number(ArrowChunkRows, 200000, 1, 10000000),
      maxPrefetch = values.number(MaxPrefetch, 1000, 0, 1000000)
    )
  }
}
