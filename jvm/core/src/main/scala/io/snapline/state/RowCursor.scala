package io.snapline.state

/** A walk over the rows of a family in the order of their keys. Owned by the caller, who closes it; the backend closes
  * what is left open.
  */
trait RowCursor extends AutoCloseable {

  /** Moves to the next row; false at the end, where the cursor has closed itself. */
  def next(): Boolean

  /** The key of the current row, a fresh array. */
  def key: Array[Byte]

  /** The value of the current row, a fresh array. */
  def value: Array[Byte]

  /** May be called more than once. */
  override def close(): Unit
}
