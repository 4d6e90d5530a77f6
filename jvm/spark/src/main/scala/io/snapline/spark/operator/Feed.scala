package io.snapline.spark.operator

/** Makes the chunks that a worker is sent, one after another. */
trait Feed {
  def writers: Seq[PartWriter]

  def hasRows: Boolean

  /** The next chunk with its meta, and whether the epoch ends with it. */
  def next(): (FrameBuilder, String, Boolean)

  /** A round of timers: an epoch of its own. */
  def timers(round: Timers.Round, due: (Long, Long)): (FrameBuilder, String)

  /** Forgets the epoch's keys; only when its changes have been applied. */
  def endEpoch(): Unit

  /** Told the bytes of state the worker says it holds, beyond what it was sent. */
  def held_=(bytes: Long): Unit
  def held: Long
}
