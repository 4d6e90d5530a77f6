package io.snapline.spark.operator.task

import scala.collection.mutable

import org.apache.arrow.memory.BufferAllocator
import org.apache.arrow.vector.types.pojo.Schema
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.streaming.state.StateStore
import org.apache.spark.sql.types.StructType

import io.snapline.error.InternalError
import io.snapline.spark.operator.channel.{ChannelState, Cuts, RowLimit, RowSchema}
import io.snapline.spark.operator.frames.{WorkerFrame, FrameBuilder, WorkerLink}
import io.snapline.spark.operator.state._

/** Puts the parts of one task together. Owns its worker and the Arrow memory until `close`, which the end of the task
  * calls if nothing else has.
  *
  * @param startLink
  *   called where there is something to do
  */
final class TaskRuntime(
    setup: TaskSetup,
    store: StateStore,
    counts: ChangeCounts,
    schemaOf: StructType => Schema,
    allocator: BufferAllocator,
    place: TaskPlace,
    startLink: () => WorkerLink
) extends AutoCloseable {
  private val timers = new Timers(setup.key, store, counts, setup.limits.chunkBytes)
  private val channel =
    ChannelState.of(store, RowSchema(setup.inputSchema, if (setup.spec.keyed) Some(setup.keyOrdinals) else None))
  private var link: WorkerLink = _
  private var linkIsOpen = false
  private var task: KeyedTask = _
  private var operator: Option[OperatorStates] = None
  private var closed = false

  Option(TaskContext.get()).foreach(_.addTaskCompletionListener[Unit](_ => close()))

  def open(
      rows: Iterator[InternalRow],
      broadcast: BroadcastRows,
      late: LateRule,
      lateOutput: mutable.Queue[InternalRow],
      cuts: Cuts
  ): KeyedRows = new TaskSegments(setup, this, channel, rows, broadcast, late, lateOutput, cuts)

  /** Rows that wait now. */
  def waiting: ChannelState = channel

  /** The task of one segment; the one before it has been closed. */
  private[operator] def run(
      segment: TaskSetup,
      rows: Iterator[InternalRow],
      broadcast: BroadcastRows,
      late: LateRule,
      limit: RowLimit,
      isLast: Boolean,
      lateOutput: mutable.Queue[InternalRow]
  ): KeyedTask = {
    val access =
      new StateAccess(
        store,
        segment.key,
        new EpochKeys,
        allocator,
        schemaOf,
        segment.limits.maxPrefetch,
        counts,
        segment.limits.chunkBytes
      )
    val exchanges = segment.spec.states.zipWithIndex.map { case (state, i) => StateSync.of(i, state, access) }
    val states = new OperatorStates(segment.spec.operatorStates, access)
    operator = Some(states)
    val chunks = new ChunkFeed(segment, rows, access, exchanges, late)
    val feed =
      if (segment.spec.operatorStates.isEmpty && broadcast.schema.isEmpty) chunks
      else {
        new OperatorFeed(states, broadcast.rows.iterator, broadcast.schema, access, segment.limits, chunks)
      }
    if (link == null) link = startLink()
    linkIsOpen = !isLast
    task = new KeyedTask(
      segment,
      link,
      feed,
      TaskStates(exchanges, timers, access, states),
      lateOutput,
      limit,
      isLast,
      place
    )
    task
  }

  /** Lets a worker go that waits to be set up again. */
  private[operator] def releaseWorker(): Unit = if (linkIsOpen) {
    linkIsOpen = false
    link.send(new FrameBuilder(WorkerFrame.End).build())
    link.finish()
    if (link.receive() != null) throw new InternalError("The worker went on after its end.")
  }

  /** The function has never run here: it does in the first micro-batch of the operator, in every partition. */
  private[operator] def isFirst: Boolean = setup.spec.operatorStates.nonEmpty && !OperatorMark.isIn(store)

  /** The function has run, be it that its time was over: its operator states are in the store, and the next one finds
    * them.
    */
  private[operator] def hasRun(): Unit = if (isFirst) OperatorMark.put(store, setup.partitions)

  private[operator] def hasDueTimers(segment: TaskSetup): Boolean = segment.spec.keyed && someTimerIsDue(segment)

  private def someTimerIsDue(segment: TaskSetup): Boolean =
    timers.earliest(Timers.EventTime).exists(time => segment.watermark.exists(time <= _)) ||
      timers.earliest(Timers.ProcessingTime).exists(_ <= segment.dueProcessingTime)

  /** The sums of the broadcast states, by name, once the worker has ended. */
  def entrySums: Seq[(String, EntrySum)] = operator.fold(Seq.empty[(String, EntrySum)])(_.entrySums)

  /** Removes what has expired by then; after the timers, so that they still see it. */
  private[operator] def cleanUp(segment: TaskSetup): Unit = if (segment.streaming) {
    segment.spec.states.filter(_.ttl).foreach { state =>
      val now = if (state.eventTimeTtl) segment.watermark else Some(segment.batchTime)
      now.foreach(new TtlIndex(state, state.storedKey(segment.key), store, counts).cleanUp)
    }
  }

  def nextProcessingTimer: Option[Long] =
    if (setup.spec.keyed) timers.earliest(Timers.ProcessingTime) else None

  override def close(): Unit = if (!closed) {
    closed = true
    if (task != null) task.close()
    allocator.close()
  }
}
