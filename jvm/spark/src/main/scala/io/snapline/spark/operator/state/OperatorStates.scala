package io.snapline.spark.operator.state

import io.snapline.spark.operator.exchange.{Frame, FrameBuilder}

/** The operator states of one partition: read whole for the worker at the beginning, changed by what it sends at the
  * end. One task's, on its thread.
  */
final class OperatorStates(specs: Seq[OperatorStateSpec], access: StateAccess) extends AutoCloseable {
  private val states = specs.zipWithIndex.map { case (spec, i) => new OperatorState(i, spec, access) }.toIndexedSeq
  private var toSend: Iterator[(Int, OperatorStates.Entry)] =
    states.indices.iterator.flatMap(i => states(i).read().map(i -> _))
  private var sent = specs.isEmpty

  def describe(frame: FrameBuilder): Unit = states.foreach(_.describe(frame))

  /** Whether there are frames to send; a function with operator state gets one, even if it is empty. */
  def hasFrames: Boolean = !sent

  /** The next frame, and its meta. */
  def next(): (FrameBuilder, String) = {
    var rows = 0
    var full = false
    while (toSend.hasNext && !full) {
      val (i, (key, value)) = toSend.next()
      rows += 1
      full = states(i).write(key, value) >= OperatorStates.FrameBytes || rows == OperatorStates.FrameRows
    }
    val frame = new FrameBuilder(Frame.States)
    states.foreach(_.flush(frame))
    sent = !toSend.hasNext
    if (sent) toSend = Iterator.empty
    (frame, s"""{"more":${!sent},"restored":${OperatorMark.isIn(access.store)}}""")
  }

  def has(part: Int): Boolean = part >= Frame.operatorChangesPart(0)

  def change(frame: Frame, part: Int): Unit =
    states(frame.id(part) - Frame.operatorChangesPart(0)).change(frame, part)

  /** Of the broadcast states, by name. */
  def entrySums: Seq[(String, EntrySum)] =
    states.filter(_.spec.isBroadcast).map(state => state.spec.name -> state.entrySum)

  override def close(): Unit = states.foreach(_.close())
}

private object OperatorStates {
  import org.apache.spark.sql.catalyst.expressions.UnsafeRow

  type Entry = (UnsafeRow, UnsafeRow)
  val FrameRows = 10000
  val FrameBytes: Long = 16L << 20
}
