package io.snapline.state.heap

import java.util.Arrays

/** The changes of a map since its last snapshot: rows as they are now, and keys that were deleted. A row that replaces
  * another of the same version takes its place.
  *
  * One thread until it is handed to a snapshot, which only reads it.
  */
private[heap] final class ChangedRows(account: HeapAccount) {
  private var rows = new Array[Array[Byte]](ChangedRows.Smallest)
  private var count = 0
  private var gone = new Array[Array[Byte]](0)
  private var goneCount = 0
  private var goneBytes = 0L
  private var memory = 0L
  private var sum = 0L
  private var lost = false
  recount()

  /** Bytes of the keys and values on it. */
  def bytes: Long = sum

  /** Memory it is counted with: rows are the map's. */
  def counted: Long = memory

  /** Whether it holds every change. */
  def whole: Boolean = !lost

  /** Returns the place. */
  def add(row: Array[Byte]): Int =
    if (lost) -1
    else {
      if (count == rows.length) {
        rows = Arrays.copyOf(rows, rows.length * 2)
        recount()
      }
      rows(count) = row
      count += 1
      sum += row.length - Row.KEY
      count - 1
    }

  /** A row of this version has taken the place of another. */
  def replace(place: Int, row: Array[Byte]): Unit = if (!lost) {
    sum += row.length - rows(place).length
    rows(place) = row
  }

  /** A row of this version is deleted. */
  def forget(place: Int): Unit = if (!lost) {
    sum -= rows(place).length - Row.KEY
    rows(place) = null
  }

  /** A key is deleted; an earlier snapshot may have it. */
  def deleted(key: Array[Byte]): Unit = if (!lost) {
    if (goneCount == gone.length) gone = Arrays.copyOf(gone, math.max(ChangedRows.Smallest, gone.length * 2))
    gone(goneCount) = key
    goneCount += 1
    sum += key.length
    goneBytes += HeapLayout.bytes(key.length)
    recount()
  }

  /** Forgets all: an image is cheaper now. */
  def giveUp(): Unit = {
    lost = true
    rows = new Array[Array[Byte]](0)
    gone = rows
    count = 0
    goneCount = 0
    goneBytes = 0
    recount()
  }

  /** It belongs to a snapshot from here on. */
  def handOver(): Unit = {
    account.hold(memory)
    account.add(-memory)
    memory = 0
  }

  def foreachDeleted(each: Array[Byte] => Unit): Unit = {
    var i = 0
    while (i < goneCount) { each(gone(i)); i += 1 }
  }

  def foreachRow(each: Array[Byte] => Unit): Unit = {
    var i = 0
    while (i < count) {
      if (rows(i) != null) each(rows(i))
      i += 1
    }
  }

  private def recount(): Unit = {
    val now = HeapLayout.references(rows.length) + HeapLayout.references(gone.length) + goneBytes
    if (now != memory) {
      account.add(now - memory)
      memory = now
    }
  }
}

private object ChangedRows {
  val Smallest = 16
}
