package io.snapline.spark.provider

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.{StateStoreIterator, UnsafeRowPair}

import io.snapline.spark.protocol.Eviction
import io.snapline.state.{ColumnFamily, RowCursor}
import io.snapline.state.timeindex.TimeIndex

/** Gives Spark's operator, which asks for all rows of a state to remove those whose time has come, those alone: in the
  * same order, but for others unseen (docs/notes/016-eviction.md). It keeps the state's time index; where none is whole
  * it walks over all rows once, and makes one.
  *
  * One task's use of a state. All its puts have to come this way, or the index is made anew.
  */
private[provider] final class Evictor(val family: StateFamily, eviction: Eviction) {
  import eviction.until

  private val times = new RowTimes(eviction.column, family)
  private var examined = 0L

  if (family.rows.keyCount == 0 && !isSound) newIndex().whole = true

  /** Rows that were read to find those whose time has come. */
  def rowsRead: Long = examined

  def put(key: UnsafeRow, value: UnsafeRow): Unit = {
    family.encodeKey(key)
    family.encodeValue(value)
    val rows = family.rows
    val index = rows.timeIndex
    if (index == null) putRow(rows)
    else {
      val time = times.of(key, value)
      val before = if (times.mayMove) timeHeld(rows) else RowTimes.Never
      val keys = rows.keyCount
      putRow(rows)
      index.noted += 1
      val isNew = rows.keyCount != keys
      // An entry at an earlier time finds the row as well, and moves on then.
      if (time != RowTimes.Never && (isNew || times.mayMove && time < before)) {
        index.add(time, family.key.bytes, 0, family.key.length)
      }
    }
  }

  private def putRow(rows: ColumnFamily): Unit =
    rows.put(family.key.bytes, 0, family.key.length, family.value.bytes, 0, family.value.length)

  private def timeHeld(rows: ColumnFamily): Long = {
    val held = rows.get(family.key.bytes, 0, family.key.length)
    if (held == null) RowTimes.Never else times.ofStored(null, held)
  }

  /** @param seen
    *   told every row that comes out
    */
  def iterator(seen: (UnsafeRow, UnsafeRow) => Unit): StateStoreIterator[UnsafeRowPair] = {
    val rows = family.rows
    val due =
      if (isSound && !isMany(rows.timeIndex.lookedAt(until))) {
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

  private def isSound: Boolean = {
    val index = family.rows.timeIndex
    index != null && index.whole && index.noted == family.rows.putCount &&
    index.size <= Evictor.MostEntries * family.rows.keyCount + Evictor.Few
  }

  /** A walk over all rows needs less memory then, and no more time. */
  private def isMany(entries: Long): Boolean = entries > Evictor.Few && entries > family.rows.keyCount / 4

  private def newIndex(): TimeIndex = {
    val index = family.rows.newTimeIndex(until)
    index.noted = family.rows.putCount
    index
  }

  /** The rows of a walk whose time has come. Those that come later get an entry; so do those that came and stayed. */
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
        examined += 1
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

private object Evictor {

  /** Entries for each row, on average, before an index with so many of rows that are gone is made anew. */
  val MostEntries = 4

  /** So few of them are never too many. */
  val Few = 100000
}

/** The rows of these keys, as far as they are there: read ahead, some at once. */
private[provider] final class KeyedRows(rows: ColumnFamily, keys: Array[Array[Byte]]) extends RowCursor {
  private var read = 0
  private var batch = new Array[Array[Byte]](0)
  private var values = new Array[Array[Byte]](0)
  private var at = -1

  override def next(): Boolean = {
    at += 1
    while ((at == batch.length || values(at) == null) && (at < batch.length || read < keys.length)) {
      if (at < batch.length) at += 1
      else {
        batch = java.util.Arrays.copyOfRange(keys, read, math.min(keys.length, read + KeyedRows.Together))
        read += batch.length
        values = rows.multiGet(batch)
        at = 0
      }
    }
    at < batch.length
  }

  override def key: Array[Byte] = batch(at)

  override def value: Array[Byte] = values(at)

  override def close(): Unit = ()
}

private object KeyedRows {
  val Together = 512
}
