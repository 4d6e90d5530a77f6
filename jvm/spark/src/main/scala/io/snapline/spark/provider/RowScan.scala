package io.snapline.spark.provider

import org.apache.spark.sql.execution.streaming.state.{StateStoreIterator, UnsafeRowPair}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

import io.snapline.state.RowCursor

/** Turns a cursor's bytes into Spark's rows. The pair that comes back is the same object for every row, as in Spark's
  * providers; closing the iterator closes the cursor.
  */
private[provider] object RowScan {

  /** @param seen
    *   told every row
    */
  def pairs(
      family: StateFamily,
      cursor: RowCursor,
      seen: (UnsafeRow, UnsafeRow) => Unit
  ): StateStoreIterator[UnsafeRowPair] = {
    val pair = new UnsafeRowPair
    val rows = new CursorIterator(cursor).map { _ =>
      val key = cursor.key
      pair.withRows(family.decodeKey(key), family.decodeValue(key, cursor.value))
      seen(pair.key, pair.value)
      pair
    }
    new StateStoreIterator(rows, () => cursor.close())
  }

  /** A row for every value of every list. */
  def listPairs(family: StateFamily, cursor: RowCursor): StateStoreIterator[UnsafeRowPair] = {
    val pair = new UnsafeRowPair
    val rows = new CursorIterator(cursor).flatMap { _ =>
      val key = cursor.key
      val keyRow = family.decodeKey(key)
      family.decodeValues(key, cursor.value).map(value => pair.withRows(keyRow, value))
    }
    new StateStoreIterator(rows, () => cursor.close())
  }

  /** Steps of a cursor; the rows are read from the cursor itself. */
  private final class CursorIterator(cursor: RowCursor) extends Iterator[Unit] {
    private var looked = false
    private var more = false

    override def hasNext: Boolean = {
      if (!looked) {
        more = cursor.next()
        looked = true
      }
      more
    }

    override def next(): Unit = {
      if (!hasNext) throw new NoSuchElementException("end of the scan")
      looked = false
    }
  }
}
