package io.snapline.spark.operator.state

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.unsafe.types.ByteArray
import org.json4s.JsonAST.JObject
import org.json4s.JsonDSL._

import io.snapline.spark.operator.frames.{WorkerFrame, FrameBuilder}

/** Carries one operator state between the store and the worker, whole. One task's, on its thread; owns its vectors
  * until `close`.
  */
final class OperatorState(index: Int, val spec: OperatorStateSpec, access: StateAccess) extends AutoCloseable {
  private val keyField = StructField("k", spec.keyType, nullable = true)
  private val valueField = StructField("v", spec.valueType, nullable = true)
  private val store = access.store
  private val writer = access.writer(WorkerFrame.operatorPart(index), StructType(Seq(keyField, valueField)))
  private val reader = access.reader(
    WorkerFrame.operatorChangesPart(index),
    StructType(Seq(StructField("op", ByteType, nullable = false), keyField, valueField))
  )
  private val row = new GenericInternalRow(2)
  private val toKey = OperatorState.stored(1, spec.keyType)
  private val toValue = OperatorState.stored(2, spec.valueType)
  private var sum = EntrySum.Empty

  /** The number and checksum of the entries; only of a broadcast state, and only once they have been read. */
  def entrySum: EntrySum = sum

  def describe(frame: FrameBuilder): Unit = {
    writer.describe(frame)
    reader.describe(frame)
  }

  /** All entries: a list in its order; a map in an order that is the same wherever its entries are. */
  def read(): Iterator[(UnsafeRow, UnsafeRow)] = {
    val found = store.iterator(spec.family)
    val entries =
      try found.map(entry => entry.key.copy() -> entry.value.copy()).toArray
      finally found.close()
    if (spec.isBroadcast) {
      entries.foreach { case (key, value) => sum = sum.add(key, value) }
      entries.map { case (key, value) => (key.getBytes, (key, value)) }
        .sortWith((a, b) => ByteArray.compareBinary(a._1, b._1) < 0).iterator.map(_._2)
    } else entries.sortBy(_._1.getLong(0)).iterator
  }

  /** Gathers an entry; bytes of what is gathered. */
  def write(key: UnsafeRow, value: UnsafeRow): Long = {
    row.update(0, OperatorState.shown(key, spec.keyType))
    row.update(1, OperatorState.shown(value, spec.valueType))
    writer.write(row)
    writer.bytes
  }

  def flush(frame: FrameBuilder): Unit = if (writer.rows > 0) writer.flush(frame)

  /** Applies one part of changes; an entry that is put as it is stored is not written. */
  def change(frame: WorkerFrame, part: Int): Unit = {
    val batch = reader.read(frame, part)
    (0 until batch.numRows()).foreach(i => change(batch, i))
  }

  private def change(batch: ColumnarBatch, i: Int): Unit = {
    val change = batch.getRow(i)
    change.getByte(0) match {
      case OperatorState.Put =>
        val (key, value) = (toKey(change), toValue(change))
        val old = store.get(key, spec.family)
        if (old == null || old != value) {
          forget(key, old)
          if (spec.isBroadcast) sum = sum.add(key, value)
          store.put(key, value, spec.family)
          access.counts.updated += 1
        }
      case OperatorState.Remove => remove(toKey(change))
      case _ =>
        val entries = store.iterator(spec.family)
        val keys =
          try entries.map(_.key.copy()).toArray
          finally entries.close()
        keys.foreach(remove)
    }
  }

  private def remove(key: UnsafeRow): Unit = {
    val old = store.get(key, spec.family)
    if (old != null) {
      forget(key, old)
      store.remove(key, spec.family)
      access.counts.removed += 1
    }
  }

  private def forget(key: UnsafeRow, old: UnsafeRow): Unit =
    if (spec.isBroadcast && old != null) sum = sum.remove(key, old)

  override def close(): Unit = {
    writer.close()
    reader.close()
  }
}

private object OperatorState {
  val Put: Byte = 0
  val Remove: Byte = 1

  /** From a part's row to the row the store keeps: a struct's fields, or a column of what is none. */
  def stored(at: Int, dataType: DataType): UnsafeProjection = {
    val whole = BoundReference(at, dataType, nullable = true)
    UnsafeProjection.create(dataType match {
      case struct: StructType => struct.indices.map(GetStructField(whole, _))
      case _ => Seq(whole)
    })
  }

  def shown(stored: InternalRow, dataType: DataType): Any =
    if (dataType.isInstanceOf[StructType]) stored else stored.get(0, dataType)
}

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
  def next(): (FrameBuilder, JObject) = {
    var rows = 0
    var full = false
    while (toSend.hasNext && !full) {
      val (i, (key, value)) = toSend.next()
      rows += 1
      full = states(i).write(key, value) >= OperatorStates.FrameBytes || rows == OperatorStates.FrameRows
    }
    val frame = new FrameBuilder(WorkerFrame.States)
    states.foreach(_.flush(frame))
    sent = !toSend.hasNext
    if (sent) toSend = Iterator.empty
    (frame, ("more" -> !sent) ~ ("restored" -> OperatorMark.isIn(access.store)))
  }

  def has(part: Int): Boolean = part >= WorkerFrame.operatorChangesPart(0)

  def change(frame: WorkerFrame, part: Int): Unit =
    states(frame.id(part) - WorkerFrame.operatorChangesPart(0)).change(frame, part)

  /** The sums of the broadcast states, by name. */
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

/** A checksum of a set of entries, kept up to date entry by entry: it does not depend on their order. */
final case class EntrySum(entries: Long, hash: Long) {
  def add(key: UnsafeRow, value: UnsafeRow): EntrySum = EntrySum(entries + 1, hash + EntrySum.of(key, value))
  def remove(key: UnsafeRow, value: UnsafeRow): EntrySum = EntrySum(entries - 1, hash - EntrySum.of(key, value))
}

object EntrySum {
  val Empty: EntrySum = EntrySum(0, 0)

  /** The hash of the key is the seed of the value's: values that changed places make a difference. */
  private def of(key: UnsafeRow, value: UnsafeRow): Long = hash(value, hash(key, 42L))

  private def hash(row: UnsafeRow, seed: Long): Long =
    XXH64.hashUnsafeBytes(row.getBaseObject, row.getBaseOffset, row.getSizeInBytes, seed)
}
