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
    // What a large epoch needed is not held for a small one.
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
