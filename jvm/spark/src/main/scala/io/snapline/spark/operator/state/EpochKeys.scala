package io.snapline.spark.operator.state

import java.util.Arrays

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Numbers the rows it is shown in order of first sight: an epoch's keys, or its (key, entry) pairs. Open addressing,
  * no boxes.
  */
final class EpochKeys {
  private var rows = new Array[UnsafeRow](1024)
  private var hashes = new Array[Int](1024)
  private var table = EpochKeys.empty(2048)
  private var count = 0

  def size: Int = count

  def apply(slot: Int): UnsafeRow = rows(slot)

  /** The row's number; a row not seen before is copied and gets the next. */
  def slotOf(row: UnsafeRow): Int = {
    val hash = row.hashCode()
    var i = hash & (table.length - 1)
    var slot = table(i)
    while (slot >= 0 && !(hashes(slot) == hash && rows(slot) == row)) {
      i = (i + 1) & (table.length - 1)
      slot = table(i)
    }
    if (slot >= 0) slot
    else {
      if (count == rows.length) grow()
      rows(count) = row.copy()
      hashes(count) = hash
      table(free(hash)) = count
      count += 1
      count - 1
    }
  }

  def clear(): Unit = {
    // The table of a large epoch is not held for a small one.
    if (table.length > EpochKeys.Kept) {
      rows = new Array[UnsafeRow](1024)
      hashes = new Array[Int](1024)
      table = EpochKeys.empty(2048)
    } else {
      Arrays.fill(rows.asInstanceOf[Array[Object]], 0, count, null)
      Arrays.fill(table, -1)
    }
    count = 0
  }

  private def free(hash: Int): Int = {
    var i = hash & (table.length - 1)
    while (table(i) >= 0) i = (i + 1) & (table.length - 1)
    i
  }

  private def grow(): Unit = {
    rows = Arrays.copyOf(rows, count * 2)
    hashes = Arrays.copyOf(hashes, count * 2)
    table = EpochKeys.empty(count * 4)
    (0 until count).foreach(slot => table(free(hashes(slot))) = slot)
  }
}

private object EpochKeys {
  private val Kept = 1 << 16

  private def empty(length: Int): Array[Int] = {
    val table = new Array[Int](length)
    Arrays.fill(table, -1)
    table
  }
}

/** The keys, or (key, entry) pairs, that a chunk begins, in the order of its rows. Knows the row each was first seen
  * in, so that a chunk can be cut where state no longer fits.
  */
final class NewKeys {
  private var begins = new Array[Int](64)

  /** The number of the first of this chunk, and that after the last. */
  var first = 0
  var until = 0

  /** The next one, and the row it begins with. */
  def add(row: Int): Unit = {
    val at = until - first
    if (at == begins.length) begins = Arrays.copyOf(begins, at * 2)
    begins(at) = row
    until += 1
  }

  def rowOf(number: Int): Int = begins(number - first)

  /** Leaves out what begins with that row or later. */
  def cut(row: Int): Unit = while (until > first && rowOf(until - 1) >= row) until -= 1

  /** The chunk is made. */
  def pass(): Unit = first = until

  def clear(): Unit = {
    if (begins.length > NewKeys.Kept) begins = new Array[Int](64)
    first = 0
    until = 0
  }
}

private object NewKeys {
  private val Kept = 1 << 16
}
