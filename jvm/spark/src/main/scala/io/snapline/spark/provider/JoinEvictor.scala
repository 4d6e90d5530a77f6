package io.snapline.spark.provider

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Literal, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.state.{StateStoreIterator, UnsafeRowPair}
import org.apache.spark.unsafe.Platform

import io.snapline.spark.protocol.Eviction
import io.snapline.state.timeindex.{KeySort, TimeIndex}
import io.snapline.state.{ColumnFamily, RowCursor}

/** For a side of a join: the operator asks for all keys, and looks at all values of each, to find the values whose time
  * has come. It gets the keys that have such a value.
  *
  * Keys and values are two states, in the state formats 1 and 2 of two stores of the task: each store brings its own.
  * Each value has an entry of its own, so a key that came out needs no other.
  */
private[provider] final class JoinEvictor(eviction: Eviction) extends Evictor(eviction) {
  private var keys: StateFamily = _
  private var values: StateFamily = _
  private var times: RowTimes = _
  private var keyOf: UnsafeProjection = _
  private var firstOf: UnsafeProjection = _

  override def asked: StateFamily = keys
  override def timed: StateFamily = values

  def bringKeys(family: StateFamily): Unit = keys = family

  def bringValues(family: StateFamily): Unit = {
    values = family
    times = new RowTimes(eviction.column, family)
    val columns = family.keySchema.init
    val references = columns.zipWithIndex.map { case (column, i) =>
      BoundReference(i, column.dataType, column.nullable)
    }
    keyOf = UnsafeProjection.create(references)
    firstOf = UnsafeProjection.create(references :+ Literal(0L))
    beginIfEmpty()
  }

  override protected def putIndexed(key: UnsafeRow, value: UnsafeRow, rows: ColumnFamily, index: TimeIndex): Unit = {
    val before = rows.keyCount
    putRow(rows)
    // A value that is put over another one has its entry: the operator puts one again when it has a match, and moves
    // the last one into the place of one that goes.
    if (rows.keyCount != before) {
      val time = times.of(key, value)
      if (time != RowTimes.Never) addEntry(time, key)
    }
  }

  private def addEntry(time: Long, key: UnsafeRow): Unit = {
    val row = keyOf(key)
    val bytes = row.getBaseObject.asInstanceOf[Array[Byte]]
    values.rows.timeIndex.add(time, bytes, (row.getBaseOffset - Platform.BYTE_ARRAY_OFFSET).toInt, row.getSizeInBytes)
  }

  override def iterator(seen: (UnsafeRow, UnsafeRow) => Unit): StateStoreIterator[UnsafeRowPair] =
    if (values == null) walk(seen)
    else {
      if (!isSound) build()
      val index = values.rows.timeIndex
      if (isMuchDue(index)) walkAhead(index, seen)
      else {
        // Until it is through, values are on their way that have no entry.
        index.whole = false
        val due = dueKeys(index.takeUnsorted(until))
        read(due.length)
        toTheEnd(index, new KeyedRows(keys.rows, due, expectValues), seen)
      }
    }

  /** The operator removes every value that is due, and the index forgets them: no later batch is to look at them. */
  private def walkAhead(
      index: TimeIndex,
      seen: (UnsafeRow, UnsafeRow) => Unit
  ): StateStoreIterator[UnsafeRowPair] = {
    index.whole = false
    index.drop(until)
    toTheEnd(index, keys.rows.iterate(), seen)
  }

  /** The index is whole again once the operator has seen all rows. */
  private def toTheEnd(
      index: TimeIndex,
      rows: RowCursor,
      seen: (UnsafeRow, UnsafeRow) => Unit
  ): StateStoreIterator[UnsafeRowPair] = {
    val counted = new RowCursor {
      override def next(): Boolean = {
        val more = rows.next()
        if (!more) index.whole = true
        more
      }
      override def key: Array[Byte] = rows.key
      override def value: Array[Byte] = rows.value
      override def close(): Unit = rows.close()
    }
    RowScan.pairs(keys, counted, seen)
  }

  private def walk(seen: (UnsafeRow, UnsafeRow) => Unit): StateStoreIterator[UnsafeRowPair] =
    RowScan.pairs(keys, keys.rows.iterate(), seen)

  /** The operator looks for the values of each of these keys next. Most keys have one. */
  private def expectValues(due: Array[Array[Byte]]): Unit = {
    val row = keys.emptyKey
    values.rows.expect(due.map { key =>
      keys.pointAtKey(row, key)
      values.keyOf(firstOf(row))
    })
  }

  /** In the order of a walk, each once. */
  private def dueKeys(entries: Array[Array[Byte]]): Array[Array[Byte]] = {
    val row = new UnsafeRow(values.keySchema.length - 1)
    KeySort.distinct(entries.map { bytes =>
      row.pointTo(bytes, bytes.length)
      keys.keyOf(row)
    })
  }

  /** An entry for each value there is. */
  private def build(): Unit = {
    newIndex(): Unit
    val row = values.emptyKey
    val cursor: RowCursor = values.rows.iterate()
    try
      while (cursor.next()) {
        read(1)
        val key = cursor.key
        val time = times.ofStored(key, cursor.value)
        if (time != RowTimes.Never) {
          values.pointAtKey(row, key)
          addEntry(time, row)
        }
      }
    finally cursor.close()
    values.rows.timeIndex.whole = true
  }
}

/** The evictors of joins in the tasks that run here, where two stores of a partition share one. A task may have several
  * partitions, one after the other. Any thread.
  */
private[provider] object JoinEvictor {
  private final case class Place(task: Long, operator: Long, partition: Int, asked: String)

  private val shared = new ConcurrentHashMap[Place, JoinEvictor]

  /** Ends with the task. */
  def ofTask(task: TaskContext, partition: Int, eviction: Eviction): JoinEvictor = {
    val place = Place(task.taskAttemptId(), eviction.operator, partition, eviction.asked)
    shared.computeIfAbsent(
      place,
      _ => {
        task.addTaskCompletionListener[Unit](_ => shared.remove(place): Unit): Unit
        new JoinEvictor(eviction)
      }
    )
  }
}
