package io.snapline.spark.operator

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.snapline.error.InternalError

/** One value per key: value, reducing and aggregating state. */
final class ValueExchange(index: Int, spec: StateSpec, access: StateAccess)
    extends StateExchange(index, spec) {
  override val sent: StructType = StructType(valueField +: expiry)
  override val changed: StructType = StructType(slotField +: valueField +: expiryAndCreated)

  private val store = access.store
  private val counts = access.counts
  private val writer = access.writer(Frame.statePart(index), sent)
  private val ttl = if (spec.ttl) Some(new TtlIndex(spec, access.keySchema, store, counts)) else None
  private val row = new GenericInternalRow(sent.length)
  private val toStore = storedValue(1)

  // A stored row of one plain field is what the worker gets, as it is.
  private val plain = !spec.ttl && !spec.valueType.isInstanceOf[StructType]
  private val absent = new GenericInternalRow(sent.length)

  override def lookUp(first: Int, until: Int, frame: FrameBuilder): Unit = if (spec.prefetch) {
    val found = store.multiGet(access.keysFrom(first, until), spec.name)
    while (found.hasNext) {
      val stored = found.next()
      if (stored == null) writer.write(absent)
      else if (plain) writer.write(stored)
      else {
        setValue(row, 0, stored)
        writer.write(row)
      }
    }
    access.counts.fetched += until - first
    writer.flush(frame)
  }

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

  override def fetchEntries(slot: Int, wanted: ColumnarBatch, frame: FrameBuilder): Unit = {
    setValue(row, 0, store.get(access.keys(slot), spec.name))
    writer.write(row)
    writer.flush(frame)
  }

  override def fetchPage(request: Long, slot: Int, frame: FrameBuilder): Boolean =
    throw new InternalError(s"Pages of the value state ${spec.name} were asked for.")

  override def close(): Unit = writer.close()
}
