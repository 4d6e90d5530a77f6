package io.snapline.spark.operator.state

import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeRow}
import org.apache.spark.sql.execution.streaming.state.snapline.StoreCalls
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.snapline.error.InternalError
import io.snapline.spark.operator.frames.{ByteBudget, WorkerFrame, FrameBuilder, ReadAhead}

/** One value per key: value, reducing and aggregating state. */
final class ValueSync(index: Int, spec: StateSpec, access: StateAccess)
    extends StateSync(index, spec) {
  override val sent: StructType = StructType(valueField +: expiry)
  override val changed: StructType = StructType(slotField +: valueField +: expiryAndCreated)

  private val store = access.store
  private val counts = access.counts
  private val writer = access.writer(WorkerFrame.statePart(index), sent)
  private val ttl = if (spec.ttl) Some(new TtlIndex(spec, access.keySchema, store, counts)) else None
  private val row = new GenericInternalRow(sent.length)
  private val toStore = storedValue(1)

  // A stored row of one plain field is what the worker gets, as it is.
  private val plain = !spec.ttl && !spec.valueType.isInstanceOf[StructType]
  private val ahead = new ReadAhead
  private val absent = new GenericInternalRow(sent.length)

  override def lookUp(begun: NewKeys, rows: Int, budget: ByteBudget): Int = if (travels(access)) {
    var slot = begun.first
    var fits = true
    while (fits && slot < begun.until) {
      val count = ahead.next(budget, begun.until - slot)
      val found = StoreCalls.values(store, access.keysFrom(slot, slot + count), spec.name)
      var read = 0L
      while (fits && found.hasNext) {
        val stored = found.next()
        val bytes = if (stored == null) 0 else sized(stored.getSizeInBytes)
        read += bytes
        fits = slot == begun.first || bytes <= budget.left
        if (fits) {
          budget.take(bytes.toLong)
          add(stored)
          slot += 1
        }
      }
      ahead.read(count, read)
    }
    counts.fetched += slot - begun.first
    if (fits) rows else begun.rowOf(slot)
  } else rows

  private def add(stored: UnsafeRow): Unit =
    if (stored == null) writer.write(absent)
    else if (plain) writer.write(stored)
    else {
      setValue(row, 0, stored)
      writer.write(row)
    }

  override def send(begun: NewKeys, rows: Int, frame: FrameBuilder): Unit =
    if (travels(access)) writer.flushFirst(begun.until - begun.first, frame)

  override def describe(frame: FrameBuilder): Unit = writer.describe(frame)

  override def change(batch: ColumnarBatch): Unit = {
    val rows = batch.numRows()
    var i = 0
    while (i < rows) {
      val change = batch.getRow(i)
      val key = access.keys(change.getInt(0))
      if (change.isNullAt(1)) {
        store.remove(key, spec.name)
        counts.removed += 1
      } else {
        store.put(key, toStore(change), spec.name)
        if (spec.ttl && change.getBoolean(3)) ttl.foreach(_.created(change.getLong(2), key))
        counts.updated += 1
      }
      i += 1
    }
  }

  override def fetchEntries(slot: Int, wanted: ColumnarBatch, frame: FrameBuilder): Int = {
    setValue(row, 0, store.get(access.keys(slot), spec.name))
    writer.write(row)
    writer.flush(frame)
    1
  }

  override def fetchPage(request: Long, slot: Int, frame: FrameBuilder): Boolean =
    throw new InternalError(s"Pages of the value state ${spec.name} were asked for.")

  override def close(): Unit = writer.close()
}
