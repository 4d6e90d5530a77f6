package io.snapline.spark.provider

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.{StateStoreIterator, UnsafeRowPair}

import io.snapline.spark.protocol.Eviction
import io.snapline.state.{ColumnFamily, RowCursor}
import io.snapline.state.timeindex.TimeIndex

/** For a state whose rows have their times themselves. */
private[provider] final class RowEvictor(family: StateFamily, eviction: Eviction) extends Evictor(eviction) {
  override def asked: StateFamily = family
  override def timed: StateFamily = family

  private val times = new RowTimes(eviction.column, family)
  beginIfEmpty()

  override protected def putIndexed(key: UnsafeRow, value: UnsafeRow, rows: ColumnFamily, index: TimeIndex): Unit = {
    val time = times.of(key, value)
    val before = if (times.mayMove) timeHeld(rows) else RowTimes.Never
    val keys = rows.keyCount
    putRow(rows)
    val isNew = rows.keyCount != keys
    // An entry at an earlier time finds the row as well, and moves on then.
    if (time != RowTimes.Never && (isNew || times.mayMove && time < before)) {
      index.add(time, family.key.bytes, 0, family.key.length)
    }
  }

  private def timeHeld(rows: ColumnFamily): Long = {
    val held = rows.get(family.key.bytes, 0, family.key.length)
    if (held == null) RowTimes.Never else times.ofStored(family.key.bytes, held)
  }

  override def iterator(seen: (UnsafeRow, UnsafeRow) => Unit): StateStoreIterator[UnsafeRowPair] = {
    val rows = family.rows
    val due =
      if (isSound && !isMuchDue(rows.timeIndex)) {
        val index = rows.timeIndex
        // Until it is through, rows are on their way that have no entry.
        index.whole = false
        new DueRows(rows, index, new KeyedRows(rows, index.take(until)))
      } else {
        val index = newIndex()
        new DueRows(rows, index, rows.iterate())
      }
    val pair = new UnsafeRowPair
    val pairs = due.map { _ =>
      pair.withRows(family.decodeKey(due.key), family.decodeValue(due.key, due.value))
      seen(pair.key, pair.value)
      pair
    }
    new StateStoreIterator(pairs, () => due.close())
  }

  /** The rows of a walk whose time has come. A row of a later time gets an entry, and so does one that came and stayed.
    */
  private final class DueRows(rows: ColumnFamily, index: TimeIndex, from: RowCursor) extends Iterator[Unit] {
    private var looked = false
    private var more = true
    private var found: Array[Byte] = _
    private var foundValue: Array[Byte] = _
    private var last: Array[Byte] = _
    private var lastTime = 0L

    def key: Array[Byte] = last

    def value: Array[Byte] = foundValue

    override def hasNext: Boolean = {
      if (!looked && more) {
        settle()
        more = advance()
        looked = true
        if (!more) end()
      }
      more
    }

    override def next(): Unit = {
      if (!hasNext) throw new NoSuchElementException("end of the rows whose time has come")
      looked = false
      last = found
    }

    private def advance(): Boolean = {
      found = null
      while (found == null && from.next()) {
        val key = from.key
        read(1)
        lastTime = times.ofStored(key, from.value)
        if (lastTime <= until && lastTime != RowTimes.Never) {
          found = key
          foundValue = from.value
        } else if (lastTime != RowTimes.Never) index.add(lastTime, key)
      }
      found != null
    }

    private def settle(): Unit = if (last != null) {
      if (rows.contains(last)) index.add(lastTime, last)
      last = null
    }

    private def end(): Unit = {
      index.whole = true
      from.close()
    }

    /** Closed before its end, it leaves the index as it is: not whole. */
    def close(): Unit = from.close()
  }
}
