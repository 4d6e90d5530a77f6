package io.snapline.spark.operator.task

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}

import io.snapline.spark.operator.channel._

/** The rows that a task puts out, and its counts. */
trait KeyedRows extends Iterator[InternalRow] {
  def epochs: Long
  def metrics: Map[String, Long]
}

/** The micro-batches a task works off: those of which rows wait, and then its own. Each is run as it would have been in
  * its own time: a function sees the same whether rows had to wait or not. Order: docs/notes/010-unaligned.md.
  *
  * @param rows
  *   the batch's own
  * @param late
  *   rows that waited are not asked again
  */
final class TaskSegments(
    setup: TaskSetup,
    runtime: TaskRuntime,
    channel: ChannelState,
    rows: Iterator[InternalRow],
    broadcast: BroadcastRows,
    late: LateRule,
    lateOutput: mutable.Queue[InternalRow],
    cuts: Cuts
) extends KeyedRows {
  private val own = Segment(setup.batchId, setup.batchTime, setup.watermark, setup.rowsWatermark)
  private val pending = mutable.Queue.from(channel.segments :+ own)
  private var task: KeyedTask = _
  private var hasStopped = false
  private var isOver = false
  private var epochCount = 0L
  private var reported = Map.empty[String, Long]

  /** Where rows go that are taken out of the batch although there is time for them. */
  private var takenOut: Option[ChannelState#Appender] = None

  override def epochs: Long = epochCount
  override def metrics: Map[String, Long] = reported

  // For every row: what goes on from segment to segment is asked when a task has no more.
  override def hasNext: Boolean = task != null && task.hasNext || goOn()

  private def goOn(): Boolean = {
    while (!isOver && (task == null || !task.hasNext)) if (task == null) begin() else end()
    !isOver || lateOutput.nonEmpty
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException
    if (task != null) task.next() else lateOutput.dequeue()
  }

  private def begin(): Unit =
    if (hasStopped || pending.isEmpty) finish()
    else {
      val segment = pending.head
      if (cuts.before(segment)) stop(segment, 0, rows)
      else {
        val of = setup.copy(
          batchId = segment.batch,
          batchTime = segment.time,
          watermark = segment.watermark,
          rowsWatermark = segment.rowsWatermark,
          runningBatch = Some(setup.batchId)
        )
        val limit = cuts.limit(segment)
        val isOwn = segment == own
        val todo = if (isOwn) ownRows else channel.read(segment)
        // A broadcast stream has no part in what waits: a query with one is aligned.
        val toAll = if (isOwn) broadcast else BroadcastRows.None
        // Live rows are not waited for before the worker is there.
        if (setup.live || todo.hasNext || !toAll.isEmpty || runtime.hasDueTimers(of) || runtime.isFirst) {
          val rule = if (isOwn && cuts.again.isEmpty) late else LateRule.None
          task = runtime.run(of, todo, toAll, rule, limit, isLast = isOwn, lateOutput)
        } else if (limit.waitsAtEnd) stop(segment, 0, Iterator.empty)
        else through(segment, of)
      }
    }

  private def ownRows: Iterator[InternalRow] = cuts.again.fold(rows)(unlessTheyWait)

  /** The rows of a batch that is cut again as it was before. The rows go through the channel, because the partition's
    * may be more than memory holds.
    */
  private def unlessTheyWait(waiting: RowsThatWait): Iterator[InternalRow] = {
    val all = channel.append(TaskSegments.Scratch)
    rows.foreach { row =>
      if (late.isLate(row)) late.divert(row)
      else {
        val raw = asRaw(row)
        waiting.count(raw)
        all.add(raw)
      }
    }
    all.close()
    waiting.counted()
    val out = channel.append(own)
    takenOut = Some(out)
    channel.read(TaskSegments.Scratch).filter { row =>
      val raw = asRaw(row)
      val waits = waiting.has(raw)
      if (waits) out.add(raw)
      !waits
    }
  }

  private def end(): Unit = {
    val ended = task
    val segment = pending.head
    epochCount += ended.epochs
    reported = (reported.keySet ++ ended.metrics.keySet).map { name =>
      name -> (reported.getOrElse(name, 0L) + ended.metrics.getOrElse(name, 0L))
    }.toMap
    task = null
    runtime.hasRun()
    if (ended.hasStopped) stop(segment, ended.taken, ended.rest) else through(segment, ended.setup)
    ended.close()
  }

  private def through(segment: Segment, of: TaskSetup): Unit = {
    runtime.cleanUp(of)
    pending.dequeue(): Unit
    if (segment != own) channel.finished(segment)
  }

  /** Rows for which there was no time go into the channel. They are durable with the state. */
  private def stop(segment: Segment, processed: Long, rest: Iterator[InternalRow]): Unit = {
    hasStopped = true
    val isOwn = segment == own
    if (!isOwn) channel.advance(segment, processed)
    val out = takenOut.getOrElse(channel.append(own))
    val within = isOwn && processed > 0
    val left = Seq.newBuilder[RowIdentity]
    (if (isOwn) rest else rows).foreach { row =>
      if (late.isLate(row)) late.divert(row)
      else {
        val raw = asRaw(row)
        if (within && cuts.wantsRows) left += RowIdentity.of(raw)
        out.add(raw)
      }
    }
    if (takenOut.isDefined) channel.finished(TaskSegments.Scratch)
    out.close()
    cuts.stopped(if (within) CutRecord.Within(left.result()) else CutRecord.At(segment.batch, processed))
  }

  private def finish(): Unit = {
    isOver = true
    runtime.releaseWorker()
    if (!hasStopped) cuts.whole()
  }

  private lazy val toRaw = UnsafeProjection.create(setup.inputSchema)

  private def asRaw(row: InternalRow): UnsafeRow = row match {
    case raw: UnsafeRow => raw
    case other => toRaw(other)
  }
}

private object TaskSegments {

  /** The segment of rows that are gone when the task ends. */
  private val Scratch = Segment(-1, 0, None, None)
}
