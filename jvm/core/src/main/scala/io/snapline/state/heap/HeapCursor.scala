package io.snapline.state.heap

import io.snapline.state.RowCursor

/** A walk over a family up to a key. Rows are not changed in place while it is open.
  *
  * @param closed
  *   told once
  */
private[heap] final class HeapCursor(
    private var walk: OrderedRows.Walk,
    until: Array[Byte],
    closed: HeapCursor => Unit
) extends RowCursor {
  private var row: Array[Byte] = _

  override def next(): Boolean =
    if (walk == null) false
    else {
      row = walk.next()
      val more = row != null && (until == null || Row.compare(row, until, 0, until.length) < 0)
      if (!more) close()
      more
    }

  override def key: Array[Byte] = Row.copyKey(current)

  override def value: Array[Byte] = Row.copyValue(current)

  private def current: Array[Byte] = {
    if (row == null) throw new NoSuchElementException("The cursor is on no row.")
    row
  }

  override def close(): Unit = if (walk != null) {
    walk = null
    row = null
    closed(this)
  }
}
