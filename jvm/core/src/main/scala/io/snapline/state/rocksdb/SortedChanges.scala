package io.snapline.state.rocksdb

import java.util.Arrays

import io.snapline.state.rowtable.{Entry, Page}
import io.snapline.state.timeindex.KeySort

/** Changes of one family, from some pages, in the order of their keys, as far as eight bytes tell keys apart: RocksDB's
  * memtable finds the place of a key that lies beside the one before it in half the time. Changes of one key keep their
  * order.
  *
  * @param native
  *   the family's number in RocksDB
  */
private[rocksdb] final class SortedChanges(val family: Int, val native: Int) {

  /** Number of a page, in the upper half, and offset of a change. */
  private var places = new Array[Long](64)
  private var count = 0

  /** A key, and how many of its bytes all keys have in common. */
  private var first: Array[Byte] = _
  private var common = 0

  /** @param page
    *   its number among the pages
    */
  def add(page: Int, offset: Int, bytes: Array[Byte], change: Entry): Unit = {
    if (count == places.length) places = Arrays.copyOf(places, count * 2)
    places(count) = page.toLong << 32 | offset
    count += 1
    val end = change.keyOffset + change.keyLength
    if (first == null) {
      first = Arrays.copyOfRange(bytes, change.keyOffset, end)
      common = first.length
    } else {
      val most = math.min(common, change.keyLength)
      val differs = Arrays.mismatch(first, 0, most, bytes, change.keyOffset, change.keyOffset + most)
      common = if (differs < 0) most else differs
    }
  }

  /** @param write
    *   takes a batch that is full
    */
  def putInto(batch: BatchBuilder, pages: IndexedSeq[Page], entry: Entry, write: () => Unit): Unit = {
    val bits = 32 - Integer.numberOfLeadingZeros(count)
    val numbers = new Array[Long](count)
    var i = 0
    while (i < count) {
      val bytes = pages((places(i) >>> 32).toInt).bytes
      entry.read(bytes, places(i).toInt)
      val next = KeySort.bytesAt(bytes, entry.keyOffset + common, entry.keyOffset + entry.keyLength)
      // Signed numbers are sorted.
      numbers(i) = (next >>> bits << bits | i) ^ Long.MinValue
      i += 1
    }
    Arrays.sort(numbers)
    val mask = (1L << bits) - 1
    i = 0
    while (i < count) {
      val place = places((numbers(i) & mask).toInt)
      val bytes = pages((place >>> 32).toInt).bytes
      entry.read(bytes, place.toInt)
      batch.add(bytes, entry, native)
      if (batch.isFull) write()
      i += 1
    }
  }
}
