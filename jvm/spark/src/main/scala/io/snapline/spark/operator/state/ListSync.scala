package io.snapline.spark.operator.state

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeRow}
import org.apache.spark.sql.types.{IntegerType, StructType}
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.snapline.error.InternalError
import io.snapline.spark.operator.frames.{ByteBudget, WorkerFrame, FrameBuilder}

/** A list per key. Appending needs no read: the store merges. */
final class ListSync(index: Int, spec: StateSpec, access: StateAccess)
    extends StateSync(index, spec) {
  override val sent: StructType = StructType(slotField +: valueField +: expiry)
  override val changed: StructType = StructType(slotField +: opField +: valueField +: expiryAndCreated)

  private val store = access.store
  private val counts = access.counts
  private val writer = access.writer(WorkerFrame.statePart(index), sent)
  private val notSent = access.writer(WorkerFrame.notSentPart(index), new StructType().add("slot", IntegerType, false))
  private val ttl = if (spec.ttl) Some(new TtlIndex(spec, access.keySchema, store, counts)) else None
  private val row = new GenericInternalRow(sent.length)
  private val slotRow = new GenericInternalRow(1)
  private val toStore = storedValue(2)
  private val pages = mutable.Map.empty[Long, Iterator[UnsafeRow]]

  override def lookUp(begun: NewKeys, rows: Int, budget: ByteBudget): Int = if (travels(access)) {
    var slot = begun.first
    var fits = true
    while (fits && slot < begun.until) {
      val elements = store.valuesIterator(access.keys(slot), spec.name)
      val begin = ArrayBuffer.empty[UnsafeRow]
      var bytes = 0L
      while (elements.hasNext && begin.size <= access.maxPrefetch && bytes <= budget.total) {
        val element = elements.next().copy()
        bytes += sized(element.getSizeInBytes)
        begin += element
      }
      counts.fetched += begin.size
      if (begin.size > access.maxPrefetch || bytes > budget.total) {
        slotRow.update(0, slot)
        notSent.write(slotRow)
      } else {
        fits = slot == begun.first || bytes <= budget.left
        if (fits) {
          budget.take(bytes)
          begin.foreach(write(slot, _))
        }
      }
      if (fits) slot += 1
    }
    if (fits) rows else begun.rowOf(slot)
  } else rows

  override def send(begun: NewKeys, rows: Int, frame: FrameBuilder): Unit = if (travels(access)) {
    writer.flushFirst(writer.rowsBelow(begun.until), frame)
    notSent.flushFirst(notSent.rowsBelow(begun.until), frame)
  }

  private def write(slot: Int, element: UnsafeRow): Unit = {
    row.update(0, slot)
    setValue(row, 1, element)
    writer.write(row)
  }

  /** Rows of one slot stand together: what follows a clear replaces the list, what follows none is appended. */
  override def change(batch: ColumnarBatch): Unit = {
    val rows = batch.numRows()
    var i = 0
    while (i < rows) {
      val slot = batch.getRow(i).getInt(0)
      val key = access.keys(slot)
      val cleared = batch.getRow(i).getByte(1) == ListSync.Clear
      if (cleared) i += 1
      val elements = ArrayBuffer.empty[UnsafeRow]
      var earliest = Long.MaxValue
      while (i < rows && batch.getRow(i).getInt(0) == slot && batch.getRow(i).getByte(1) == ListSync.Append) {
        val change = batch.getRow(i)
        elements += toStore(change).copy()
        if (spec.ttl && !change.isNullAt(3) && change.getBoolean(4)) earliest = math.min(earliest, change.getLong(3))
        i += 1
      }
      if (cleared && elements.isEmpty) {
        store.remove(key, spec.name)
        counts.removed += 1
      } else if (elements.nonEmpty) {
        if (cleared) store.putList(key, elements.toArray, spec.name)
        else store.mergeList(key, elements.toArray, spec.name)
        counts.updated += elements.size
        if (earliest != Long.MaxValue) ttl.foreach(_.created(earliest, key))
      }
    }
  }

  override def fetchEntries(slot: Int, wanted: ColumnarBatch, frame: FrameBuilder): Int =
    throw new InternalError(s"Single entries of the list state ${spec.name} were asked for.")

  override def fetchPage(request: Long, slot: Int, frame: FrameBuilder): Boolean = {
    val elements = pages.getOrElseUpdate(request, store.valuesIterator(access.keys(slot), spec.name))
    var bytes = 0L
    while (elements.hasNext && writer.rows < StateSync.PageRows && bytes < access.pageBytes) {
      val element = elements.next()
      bytes += sized(element.getSizeInBytes)
      write(slot, element)
    }
    val more = elements.hasNext
    if (!more) pages.remove(request): Unit
    writer.flush(frame)
    more
  }

  override def closeRequest(request: Long): Unit = pages.remove(request): Unit

  override def endEpoch(): Unit = pages.clear()

  override def describe(frame: FrameBuilder): Unit = Seq(writer, notSent).foreach(_.describe(frame))

  override def close(): Unit = {
    writer.close()
    notSent.close()
  }
}

private object ListSync {
  val Append: Byte = 0
  val Clear: Byte = 1
}
