package io.snapline.spark.operator.state

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.streaming.state.{StateStoreIterator, UnsafeRowPair}
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.snapline.spark.operator.frames.{ByteBudget, WorkerFrame, FrameBuilder, ReadAhead}
import org.apache.spark.sql.execution.streaming.state.snapline.{GroupingKeys, StoreCalls}

/** A map per key, each entry a row of the store behind its key. With an `entry` column single entries are looked up,
  * else whole maps.
  */
final class MapSync(index: Int, spec: StateSpec, access: StateAccess)
    extends StateSync(index, spec) {
  private val userKey = spec.userKey.get
  private val keyField = StructField("k", userKey, nullable = true)
  private val present = if (spec.entry.isDefined) Seq(StructField("p", BooleanType, nullable = false)) else Nil

  override val sent: StructType = StructType(Seq(slotField, keyField) ++ present ++ (valueField +: expiry))
  override val changed: StructType = StructType(Seq(slotField, opField, keyField, valueField) ++ expiryAndCreated)

  private val store = access.store
  private val counts = access.counts
  private val writer = access.writer(WorkerFrame.statePart(index), sent)
  private val notSent = access.writer(WorkerFrame.notSentPart(index), new StructType().add("slot", IntegerType, false))
  private val ttl =
    if (spec.ttl) Some(new TtlIndex(spec, spec.storedKey(access.keySchema), store, counts)) else None

  private val row = new GenericInternalRow(sent.length)
  private val slotRow = new GenericInternalRow(1)
  private val valueAt = 2 + present.length
  private val toStore = storedValue(3)
  private val pages = mutable.Map.empty[Long, StateStoreIterator[UnsafeRowPair]]

  // The slot of each pair, by the pair's number; pairs begin anew with the epoch.
  private val pairs = new EpochKeys
  private var pairSlots = new Array[Int](1024)
  private val newPairs = new NewKeys
  private val ahead = new ReadAhead

  // ---- keys of the store

  private val keyHolder = new GenericInternalRow(1)
  private val joined = new JoinedRow
  private val keyStruct = BoundReference(0, access.keySchema, nullable = false)
  private val prefix = UnsafeProjection.create(Seq[Expression](keyStruct))

  /** From (key, row) to the entry's key in the store, where the row holds the user's key at `at`. */
  private def pairOf(at: Int): UnsafeProjection = {
    // The worker has normalized its keys; those of an entry column are as the rows have them.
    val user = GroupingKeys.of(BoundReference(1 + at, userKey, nullable = true))
    val struct = userKey match {
      case _: StructType => user
      case _ => CreateNamedStruct(Seq(Literal("value"), user))
    }
    UnsafeProjection.create(Seq[Expression](keyStruct, struct))
  }

  private val pairOfChange = pairOf(2)
  private val pairOfRequest = pairOf(1)

  private def holding(slot: Int): InternalRow = {
    keyHolder.update(0, access.keys(slot))
    keyHolder
  }

  private def prefixOf(slot: Int): UnsafeRow = prefix(holding(slot))

  private val userIsStruct = userKey.isInstanceOf[StructType]
  private val userFields = StateSpec.wrapped(userKey).length

  private def userKeyOf(pair: UnsafeRow): Any = {
    val struct = pair.getStruct(1, userFields)
    if (userIsStruct) struct else struct.get(0, userKey)
  }

  // ---- ahead

  /** The projection of a row of input to its pair; the key goes before it. */
  def pairOfInput(ordinal: Int): UnsafeProjection = pairOf(ordinal)

  /** Notes the pair of a row; the number it has in this epoch.
    *
    * @param at
    *   where the row stands in its chunk
    */
  def note(slot: Int, input: InternalRow, projection: UnsafeProjection, at: Int): Int = {
    val before = pairs.size
    val number = pairs.slotOf(projection(joined(holding(slot), input)))
    if (number == before) {
      if (number == pairSlots.length) pairSlots = java.util.Arrays.copyOf(pairSlots, number * 2)
      pairSlots(number) = slot
      newPairs.add(at)
    }
    number
  }

  override def lookUp(begun: NewKeys, rows: Int, budget: ByteBudget): Int =
    if (spec.entry.isDefined) lookUpPairs(rows, budget)
    else if (travels(access)) {
      var slot = begun.first
      while (slot < begun.until && lookUpWhole(slot, slot == begun.first, budget)) slot += 1
      if (slot == begun.until) rows else begun.rowOf(slot)
    } else rows

  override def send(begun: NewKeys, rows: Int, frame: FrameBuilder): Unit =
    if (spec.entry.isDefined) {
      newPairs.cut(rows)
      writer.flushFirst(newPairs.until - newPairs.first, frame)
      newPairs.pass()
    } else if (travels(access)) {
      writer.flushFirst(writer.rowsBelow(begun.until), frame)
      notSent.flushFirst(notSent.rowsBelow(begun.until), frame)
    }

  private def lookUpPairs(rows: Int, budget: ByteBudget): Int = {
    newPairs.cut(rows)
    var number = newPairs.first
    var fits = true
    while (fits && number < newPairs.until) {
      val begin = number
      val wanted = Array.tabulate(ahead.next(budget, newPairs.until - begin))(i => pairs(begin + i))
      val found = StoreCalls.values(store, wanted, spec.name)
      var read = 0L
      while (fits && found.hasNext) {
        val stored = found.next()
        val bytes = pairs(number).getSizeInBytes + (if (stored == null) 0 else sized(stored.getSizeInBytes))
        read += bytes
        fits = number == newPairs.first || bytes <= budget.left
        if (fits) {
          budget.take(bytes.toLong)
          row.update(0, pairSlots(number))
          row.update(1, userKeyOf(pairs(number)))
          row.update(2, stored != null)
          setValue(row, valueAt, stored)
          writer.write(row)
          number += 1
        }
      }
      ahead.read(wanted.length, read)
    }
    counts.fetched += number - newPairs.first
    if (fits) rows else newPairs.rowOf(number)
  }

  /** Whether there was room for it, or it is one of those that are not sent. */
  private def lookUpWhole(slot: Int, isFirst: Boolean, budget: ByteBudget): Boolean = {
    val entries = store.prefixScan(prefixOf(slot), spec.name)
    try {
      val begin = ArrayBuffer.empty[(UnsafeRow, UnsafeRow)]
      var bytes = 0L
      while (entries.hasNext && begin.size <= access.maxPrefetch && bytes <= budget.total) {
        val entry = entries.next()
        bytes += sized(entry.key.getSizeInBytes + entry.value.getSizeInBytes)
        begin += entry.key.copy() -> entry.value.copy()
      }
      counts.fetched += begin.size
      if (begin.size > access.maxPrefetch || bytes > budget.total) {
        slotRow.update(0, slot)
        notSent.write(slotRow)
        true
      } else if (isFirst || bytes <= budget.left) {
        budget.take(bytes)
        begin.foreach { case (key, value) => write(slot, key, value) }
        true
      } else false
    } finally entries.close()
  }

  private def write(slot: Int, pair: UnsafeRow, value: UnsafeRow): Unit = {
    row.update(0, slot)
    row.update(1, userKeyOf(pair))
    if (spec.entry.isDefined) row.update(2, true)
    setValue(row, valueAt, value)
    writer.write(row)
  }

  // ---- changes

  override def change(batch: ColumnarBatch): Unit = {
    val rows = batch.numRows()
    var i = 0
    while (i < rows) {
      val change = batch.getRow(i)
      val slot = change.getInt(0)
      change.getByte(1) match {
        case MapSync.Put =>
          val pair = pairOfChange(joined(holding(slot), change))
          store.put(pair, toStore(change), spec.name)
          if (spec.ttl && change.getBoolean(5)) ttl.foreach(_.created(change.getLong(4), pair))
          counts.updated += 1
        case MapSync.Remove =>
          store.remove(pairOfChange(joined(holding(slot), change)), spec.name)
          counts.removed += 1
        case _ => clear(slot)
      }
      i += 1
    }
  }

  private def clear(slot: Int): Unit = {
    val entries = store.prefixScan(prefixOf(slot), spec.name)
    val gone =
      try entries.map(_.key.copy()).toArray
      finally entries.close()
    gone.foreach(store.remove(_, spec.name))
    counts.removed += gone.length
  }

  // ---- on request

  override def fetchEntries(slot: Int, wanted: ColumnarBatch, frame: FrameBuilder): Int = {
    val rows = wanted.numRows()
    var i = 0
    var bytes = 0L
    while (i < rows && bytes < access.pageBytes) {
      val request = wanted.getRow(i)
      val pair = pairOfRequest(joined(holding(request.getInt(0)), request))
      val stored = store.get(pair, spec.name)
      if (stored != null) {
        bytes += sized(pair.getSizeInBytes + stored.getSizeInBytes)
        write(request.getInt(0), pair, stored)
      }
      i += 1
    }
    writer.flush(frame)
    i
  }

  override def fetchPage(request: Long, slot: Int, frame: FrameBuilder): Boolean = {
    val entries = pages.getOrElseUpdate(request, store.prefixScan(prefixOf(slot), spec.name))
    var bytes = 0L
    while (writer.rows < StateSync.PageRows && bytes < access.pageBytes && entries.hasNext) {
      val entry = entries.next()
      bytes += sized(entry.key.getSizeInBytes + entry.value.getSizeInBytes)
      write(slot, entry.key, entry.value)
    }
    val more = entries.hasNext
    if (!more) closeRequest(request)
    writer.flush(frame)
    more
  }

  override def closeRequest(request: Long): Unit = pages.remove(request).foreach(_.close())

  override def endEpoch(): Unit = {
    pages.values.foreach(_.close())
    pages.clear()
    pairs.clear()
    newPairs.clear()
  }

  override def describe(frame: FrameBuilder): Unit = Seq(writer, notSent).foreach(_.describe(frame))

  override def close(): Unit = {
    pages.values.foreach(_.close())
    writer.close()
    notSent.close()
  }
}

private object MapSync {
  val Put: Byte = 0
  val Remove: Byte = 1
}
