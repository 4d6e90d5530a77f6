package io.snapline.spark.settings

import io.snapline.error.StateTooLarge

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
  * @param chunkBytes
  *   bytes of rows, and bytes of state, that travel together; what is larger by itself travels alone
  * @param tickMillis
  *   in real-time mode, from one end of an epoch to the next, and from one look at timers of the clock to the next
  */
final case class WorkerLimits(
    maxKeys: Int,
    maxBytes: Long,
    chunkRows: Int,
    arrowChunkRows: Int,
    maxPrefetch: Int,
    chunkBytes: Long = WorkerLimits.MostBytes,
    tickMillis: Long = WorkerLimits.DefaultTick
)

object WorkerLimits {
  private val Prefix = "spark.snapline.python."
  val MaxKeys: String = Prefix + "cache.max-keys"
  val MaxBytes: String = Prefix + "cache.max-bytes"
  val ChunkRows: String = Prefix + "chunk-rows"
  val ArrowChunkRows: String = Prefix + "arrow.chunk-rows"
  val MaxPrefetch: String = Prefix + "max-prefetch"

  val Tick: String = "spark.snapline.real-time.tick-ms"
  private val DefaultTick = 100L

  private val names = Set(MaxKeys, MaxBytes, ChunkRows, ArrowChunkRows, MaxPrefetch, Tick)

  /** Most bytes of one row, or of one value of a state. A frame is one array, and so is a column of Arrow, which
    * doubles as it grows.
    */
  val MostBytes: Long = 256L << 20

  def tooLarge(what: String, bytes: Long): StateTooLarge = new StateTooLarge(
    s"$what of $bytes bytes, where at most $MostBytes can travel between Spark and Python.",
    "make it smaller: keep large things in files and their names in rows; split a large value into a list or a map."
  )

  /** @param arrowBytes
    *   what Spark allows a batch of Arrow: spark.sql.execution.arrow.maxBytesPerBatch
    */
  def read(get: String => Option[String], arrowBytes: Long): WorkerLimits = {
    val values = new SettingValues(names.flatMap(name => get(name).map(name -> _)).toMap)
    WorkerLimits(
      maxKeys = values.number(MaxKeys),
      maxBytes = values.size(MaxBytes),
      chunkRows = values.number(ChunkRows),
      arrowChunkRows = values.number(ArrowChunkRows),
      maxPrefetch = values.number(MaxPrefetch),
      chunkBytes = math.min(arrowBytes, MostBytes),
      tickMillis = values.number(Tick).toLong
    )
  }
}
