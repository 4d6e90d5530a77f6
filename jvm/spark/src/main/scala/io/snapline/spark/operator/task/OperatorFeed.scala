package io.snapline.spark.operator.task

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType
import org.json4s.JsonAST.JObject

import io.snapline.spark.operator.channel.RowLimit
import io.snapline.spark.operator.frames.{WorkerFrame, FrameBuilder, PartWriter, RowSize}
import io.snapline.spark.operator.state.{OperatorStates, StateAccess, Timers}
import io.snapline.spark.settings.WorkerLimits

/** Sends what comes before the rows of a micro-batch: the operator state, then the rows of the broadcast stream. */
final class OperatorFeed(
    states: OperatorStates,
    broadcast: Iterator[InternalRow],
    broadcastSchema: Option[StructType],
    access: StateAccess,
    limits: WorkerLimits,
    rows: Feed
) extends Feed {
  private val broadcastWriter = broadcastSchema.map(access.writer(WorkerFrame.BroadcastPart, _))

  override def writers: Seq[PartWriter] = rows.writers ++ broadcastWriter

  override def hasRows: Boolean = states.hasFrames || broadcast.hasNext || rows.hasRows

  override def taken: Long = rows.taken

  override def rest: Iterator[InternalRow] = rows.rest

  override def mayStop: Boolean = !states.hasFrames && !broadcast.hasNext && rows.mayStop

  override def epochIsOpen: Boolean = rows.epochIsOpen

  override def last(): (FrameBuilder, JObject) = rows.last()

  override def next(limit: RowLimit): (FrameBuilder, JObject, Boolean) =
    if (states.hasFrames) {
      limit.sent(0)
      val (frame, meta) = states.next()
      (frame, meta, false)
    } else if (broadcast.hasNext) {
      limit.sent(0)
      val writer = broadcastWriter.get
      val size = new RowSize("a row of the broadcast stream", broadcastSchema.get)
      var bytes = 0L
      while (writer.rows < limits.chunkRows && bytes < limits.chunkBytes && broadcast.hasNext) {
        val row = broadcast.next()
        bytes += size.of(row)
        writer.write(row)
      }
      val frame = new FrameBuilder(WorkerFrame.Broadcast)
      writer.flush(frame)
      // An epoch of its own: it may read and write the state of any key, so no chunk may be on its way.
      (frame, Feed.meta(first = 0, end = true), true)
    } else rows.next(limit)

  override def timers(round: Timers.Round, due: (Long, Long)): (FrameBuilder, JObject, Timers.Round) =
    rows.timers(round, due)

  override def endEpoch(): Unit = rows.endEpoch()

  override def held_=(bytes: Long): Unit = rows.held = bytes
  override def held: Long = rows.held
}
