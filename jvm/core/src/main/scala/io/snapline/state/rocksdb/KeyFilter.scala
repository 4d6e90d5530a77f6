package io.snapline.state.rocksdb

import io.snapline.state.timeindex.IndexMemory

/** Knows of a key whether it was never added, by the key's hash (`RowIndex.hash`). Two in a hundred others pass for
  * added. Keys do not leave.
  *
  * A row of Bloom filters, each twice as large as the one before while there is memory. All bits of a key are in one
  * word. One thread.
  *
  * @param expected
  *   so many keys have room before there is a second filter
  */
private[rocksdb] final class KeyFilter(all: IndexMemory, expected: Long) extends AutoCloseable {
  import KeyFilter._

  private val memory = all.share
  private var filters = Array.empty[Array[Long]]

  /** Keys that the last filter has, and has room for. */
  private var count = 0L
  private var room = 0L

  /** Memory it takes. */
  def bytes: Long = memory.used

  def mayHave(hash: Int): Boolean = {
    var i = filters.length - 1
    while (i >= 0) {
      if (has(filters(i), hash)) return true
      i -= 1
    }
    false
  }

  /** False: there is no memory for it, and this knows less than it should. */
  def add(hash: Int): Boolean = mayHave(hash) || {
    val fits = count < room || grow()
    if (fits) {
      val words = filters(filters.length - 1)
      words(place(words, hash)) |= bits(hash)
      count += 1
    }
    fits
  }

  private def grow(): Boolean = {
    val wanted =
      if (filters.isEmpty) math.max(Smallest, powerAbove(expected / KeysPerWord)) else filters.last.length * 2L
    val words = if (all.hasRoom(8 * wanted)) wanted else wanted / 2
    val fits = words <= Largest && all.hasRoom(8 * words)
    if (fits) {
      memory.take(8L * words)
      filters :+= new Array[Long](words.toInt)
      count = 0
      room = words * KeysPerWord
    }
    fits
  }

  override def close(): Unit = {
    filters = Array.empty
    count = 0
    room = 0
    memory.give(memory.used)
  }
}

private[rocksdb] object KeyFilter {

  /** Thirteen bits for a key. */
  private val KeysPerWord = 5L
  private val Smallest = 64L
  private val Largest = 1L << 24

  private def powerAbove(words: Long): Long = math.min(Largest, java.lang.Long.highestOneBit(math.max(1, words)) * 2)

  private def has(words: Array[Long], hash: Int): Boolean = {
    val wanted = bits(hash)
    (words(place(words, hash)) & wanted) == wanted
  }

  /** The lengths are powers of two. */
  private def place(words: Array[Long], hash: Int): Int = ((hash * 0x9e3779b97f4a7c15L) >>> 40).toInt &
    (words.length - 1)

  /** Four of the 64. */
  private def bits(hash: Int): Long = {
    val mixed = (hash ^ (hash >>> 15)) * 0xc2b2ae3d27d4eb4fL
    1L <<
      (mixed >>> 58) |
      1L <<
      (mixed >>> 52) |
      1L <<
      (mixed >>> 46) |
      1L <<
      (mixed >>> 40)
  }
}
