package io.snapline.spark.operator.task

import org.apache.spark.sql.catalyst.InternalRow
import org.json4s.JsonAST.JObject
import org.json4s.JsonDSL._

import io.snapline.spark.operator.channel.RowLimit
import io.snapline.spark.operator.frames.{FrameBuilder, PartWriter}
import io.snapline.spark.operator.state.Timers

/** Makes the chunks that a worker is sent, one after another. */
trait Feed {
  def writers: Seq[PartWriter]

  /** Whether a row is there now: of live rows more may come. */
  def hasRows: Boolean

  /** The rows, where they come one by one while the micro-batch lasts. */
  def live: Option[LiveRows] = None

  /** Rows that were taken from the source. */
  def taken: Long

  /** The rows that were not taken. */
  def rest: Iterator[InternalRow]

  /** Whether the rest may go to another micro-batch: what comes before the rows must be sent, and a function that gets
    * a key's rows at once gets all of them.
    */
  def mayStop: Boolean

  /** Whether keys are held that the worker has not been told to give back. */
  def epochIsOpen: Boolean

  /** The next chunk with its meta, and whether the epoch ends with it.
    *
    * @param limit
    *   is asked how many rows there may be, and told how many there are; a function that gets a key's rows at once gets
    *   more
    */
  def next(limit: RowLimit): (FrameBuilder, JObject, Boolean)

  /** A chunk without rows: ends the epoch before its rows have. */
  def last(): (FrameBuilder, JObject)

  /** A round of timers: an epoch of its own. Gives those that are in it: the first of the round, if not all of them
    * have room for their state.
    */
  def timers(round: Timers.Round, due: (Long, Long)): (FrameBuilder, JObject, Timers.Round)

  /** Forgets the epoch's keys; only when its changes have been applied. */
  def endEpoch(): Unit

  /** Told the bytes of state the worker says it holds, beyond what it was sent. */
  def held_=(bytes: Long): Unit
  def held: Long
}

object Feed {

  /** The meta of a chunk of rows.
    *
    * @param first
    *   the slot of the first key that begins in it
    * @param end
    *   whether the epoch ends with it
    */
  def meta(first: Int, end: Boolean): JObject = ("first_slot" -> first) ~ ("end_of_epoch" -> end)
}
