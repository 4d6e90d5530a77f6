package io.snapline.spark.operator.task

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{IntegerType, StructField, StructType}
import org.json4s.JsonAST.JObject
import org.json4s.JsonDSL._

import io.snapline.spark.operator.channel.RowLimit
import io.snapline.spark.operator.frames.{ByteBudget, WorkerFrame, FrameBuilder, PartWriter, RowSize}
import io.snapline.spark.operator.state.{MapSync, NewKeys, StateAccess, StateSync, Timers}

/** Makes chunks of a partition's rows, with the state of the keys they begin. */
final class ChunkFeed(
    setup: TaskSetup,
    source: Iterator[InternalRow],
    access: StateAccess,
    exchanges: Seq[StateSync],
    late: LateRule
) extends Feed {
  private val rows = new RowSource(source)
  private val limits = setup.limits
  private val keys = access.keys
  private val chunkRows = if (setup.spec.arrow) limits.arrowChunkRows else limits.chunkRows
  private val input = setup.input
  private val keyOf = setup.keyOf(access.store.id.partitionId)
  private val slots = RowSlots.of(setup.key, setup.keyOrdinals, keyOf(_), keys)

  /** The maps whose entries are looked up by a column, and their pairs' projections. */
  private val byEntry: Array[(MapSync, UnsafeProjection)] = exchanges.collect {
    case map: MapSync if map.spec.entry.isDefined =>
      map -> map.pairOfInput(input.indexWhere(_.name == map.spec.entry.get))
  }.toArray

  private val marks: StructType = StructType(
    StructField("__slot", IntegerType, nullable = false) +:
      (if (setup.spec.arrow) byEntry.toSeq.map(e => StructField(s"__entry_${e._1.index}", IntegerType, false)) else Nil)
  )
  private val rowWriter = access.writer(WorkerFrame.RowsPart, StructType(setup.inputSchema.fields ++ marks.fields))
  private val keyWriter = access.writer(WorkerFrame.KeysPart, setup.key)
  private val timerWriter = access.writer(WorkerFrame.TimersPart, Timers.sent)
  private val marksRow = new SpecificInternalRow(marks)
  private val joined = new JoinedRow
  private val rowSize = new RowSize("a row", setup.inputSchema)
  private val begun = new NewKeys
  private var sentBytes = 0L

  override def writers: Seq[PartWriter] = Seq(rowWriter, keyWriter, timerWriter)

  override def hasRows: Boolean = rows.isReady

  override def live: Option[LiveRows] = rows.live

  override def taken: Long = takenRows
  private var takenRows = 0L

  override def rest: Iterator[InternalRow] = rows

  override def mayStop: Boolean = !(setup.spec.grouped && setup.spec.keyed && sameKey)

  override def epochIsOpen: Boolean = keys.size > 0

  override var held = 0L

  override def next(limit: RowLimit): (FrameBuilder, JObject, Boolean) = {
    val allowed = limit.next(chunkRows)
    val most = if (allowed == 0) chunkRows else allowed
    val first = begun.first
    var count = 0
    var bytes = 0L
    var fits = true
    while (fits && bytes < limits.chunkBytes && count < most && rows.isReady && !full) {
      val row = rows.head
      if (late.isLate(row)) {
        // It may wait for its turn in a side output.
        bytes += rowSize.ofAny(row)
        late.divert(rows.next())
        count += 1
      } else {
        val size = rowSize.of(row)
        fits = bytes == 0 || bytes + size <= limits.chunkBytes
        if (fits) {
          take(rows.next())
          limit.took(row)
          bytes += size
          count += 1
        }
      }
    }
    val written = rowWriter.rows
    val kept = readState(written)
    if (kept < written) {
      rows.giveBack(rowWriter.rowsFrom(kept).map(toInput(_).copy()).toSeq)
      limit.gaveBack(written - kept)
      count -= written - kept
    }
    takenRows += count
    limit.sent(count)
    val frame = new FrameBuilder(WorkerFrame.Rows)
    rowWriter.flushFirst(kept, frame)
    addState(frame, kept)
    // Keys were numbered of which the worker is not told.
    val end = setup.spec.arrow || kept < written || full || rows.isOver
    (frame, Feed.meta(first, end), end)
  }

  private def take(row: InternalRow): Unit = {
    val slot = slots.slotOf(row)
    if (slot == begun.until) begun.add(rowWriter.rows)
    marksRow.setInt(0, slot)
    var i = 0
    while (i < byEntry.length) {
      val pair = byEntry(i)._1.note(slot, row, byEntry(i)._2, rowWriter.rows)
      if (setup.spec.arrow) marksRow.setInt(i + 1, pair)
      i += 1
    }
    rowWriter.write(joined(row, marksRow))
  }

  private lazy val toInput = UnsafeProjection.create(setup.inputSchema)

  override def last(): (FrameBuilder, JObject) = {
    val frame = new FrameBuilder(WorkerFrame.Rows)
    val first = begun.first
    rowWriter.flush(frame)
    addState(frame, 0)
    (frame, Feed.meta(first, end = true))
  }

  /** The worker is to hold no more. A function that gets a key's rows at once gets all of them in one epoch. */
  private def full: Boolean =
    (keys.size >= limits.maxKeys || sentBytes + held >= limits.maxBytes) && !(setup.spec.grouped && sameKey)

  private def sameKey: Boolean = rows.isReady && keys.size > 0 && keyOf(rows.head) == keys(keys.size - 1)

  override def timers(round: Timers.Round, due: (Long, Long)): (FrameBuilder, JObject, Timers.Round) = {
    val row = new GenericInternalRow(3)
    row.update(2, round.domain)
    round.timers.foreach { case (time, key) =>
      val slot = keys.slotOf(key)
      if (slot == begun.until) begun.add(timerWriter.rows)
      row.update(0, slot)
      row.update(1, time)
      timerWriter.write(row)
    }
    val frame = new FrameBuilder(WorkerFrame.Timers)
    access.atTimers = true
    val kept = readState(round.timers.length)
    val sent = if (kept < round.timers.length) round.first(kept) else round
    timerWriter.flushFirst(kept, frame)
    addState(frame, kept)
    access.atTimers = false
    val meta = Feed.meta(first = 0, end = true) ~ ("due_event_ms" -> due._1) ~ ("due_processing_ms" -> due._2) ~
      ("through" -> sent.through)
    (frame, meta, sent)
  }

  /** Reads the state of the keys that begin; so many of the chunk's rows have all of theirs, and the others have to
    * wait.
    */
  private def readState(rows: Int): Int = {
    val budget = new ByteBudget(limits.chunkBytes)
    var kept = rows
    exchanges.foreach { exchange =>
      kept = exchange.lookUp(begun, kept, budget)
      begun.cut(kept)
    }
    kept
  }

  private def addState(frame: FrameBuilder, rows: Int): Unit = {
    val before = frame.size
    (begun.first until begun.until).foreach(slot => keyWriter.write(keys(slot)))
    keyWriter.flush(frame)
    exchanges.foreach(_.send(begun, rows, frame))
    sentBytes += frame.size - before
    begun.pass()
  }

  override def endEpoch(): Unit = {
    keys.clear()
    slots.clear()
    exchanges.foreach(_.endEpoch())
    begun.clear()
    sentBytes = 0
    held = 0
  }
}
