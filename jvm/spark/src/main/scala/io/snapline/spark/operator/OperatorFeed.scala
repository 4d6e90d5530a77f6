package io.snapline.spark.operator

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

/** Sends what comes before the rows of a micro-batch: the operator state, then the rows of the broadcast stream. */
final class OperatorFeed(
    states: OperatorStates,
    broadcast: Iterator[InternalRow],
    broadcastSchema: Option[StructType],
    access: StateAccess,
    chunkRows: Int,
    rows: Feed
) extends Feed {
  private val broadcastWriter = broadcastSchema.map(access.writer(Frame.BroadcastPart, _))

  override def writers: Seq[PartWriter] = rows.writers ++ broadcastWriter

  override def hasRows: Boolean = states.hasFrames || broadcast.hasNext || rows.hasRows

  override def next(): (FrameBuilder, String, Boolean) =
    if (states.hasFrames) {
      val (frame, meta) = states.next()
      (frame, meta, false)
    } else if (broadcast.hasNext) {
      val writer = broadcastWriter.get
      while (writer.rows < chunkRows && broadcast.hasNext) writer.write(broadcast.next())
      val frame = new FrameBuilder(Frame.Broadcast)
      writer.flush(frame)
      // An epoch of its own: it may read and write the state of any key, so no chunk may be on its way.
      (frame, """{"first_slot":0,"end_of_epoch":true}""", true)
    } else rows.next()

  override def timers(round: Timers.Round, due: (Long, Long)): (FrameBuilder, String) = rows.timers(round, due)

  override def endEpoch(): Unit = rows.endEpoch()

  override def held_=(bytes: Long): Unit = rows.held = bytes
  override def held: Long = rows.held
}
