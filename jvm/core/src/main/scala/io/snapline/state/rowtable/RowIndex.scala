package io.snapline.state.rowtable

/** An open-addressing index from (family, key) to the address of an entry. Keys are not in it: it compares them in
  * their pages.
  *
  * A slot is `hash << 32 | address`; 0 is empty (page numbers begin at 1). Linear probing, deletion by shifting back,
  * at most five eighths full.
  */
private[rowtable] final class RowIndex(pages: PageList) {
  private var slots = new Array[Long](RowIndex.Smallest)
  private var mask = slots.length - 1
  private var count = 0
  private val entry = new Entry

  def size: Int = count

  def bytes: Long = 8L * slots.length

  /** The slot of the key, or -1. */
  def find(hash: Int, family: Int, key: Array[Byte], keyOffset: Int, keyLength: Int): Int = {
    var at = RowIndex.spread(hash) & mask
    var slot = slots(at)
    while (slot != 0L) {
      if ((slot >>> 32).toInt == hash && same(slot.toInt, family, key, keyOffset, keyLength)) return at
      at = (at + 1) & mask
      slot = slots(at)
    }
    -1
  }

  /** Reads what `find` will read for these hashes, all of it at once: one after another each would wait for memory
    * alone.
    */
  def touch(hashes: Array[Int], count: Int): Unit = {
    touchSlots(hashes, count)
    var sum = 0L
    var i = 0
    while (i < count) {
      val slot = slots(RowIndex.spread(hashes(i)) & mask)
      if ((slot >>> 32).toInt == hashes(i) && slot != 0L) {
        sum += pages(Page.number(slot.toInt)).bytes(Page.offset(slot.toInt))
      }
      i += 1
    }
    touched += sum
  }

  /** The same for `slotOf`, which reads no page. */
  def touchSlots(hashes: Array[Int], count: Int): Unit = {
    var sum = 0L
    var i = 0
    while (i < count) {
      sum += slots(RowIndex.spread(hashes(i)) & mask)
      i += 1
    }
    touched += sum
  }

  /** Keeps the reads alive, and is of no other use. */
  private var touched = 0L

  def address(slot: Int): Int = slots(slot).toInt

  def setAddress(slot: Int, address: Int): Unit =
    slots(slot) = (slots(slot) & 0xffffffff00000000L) | (address & 0xffffffffL)

  /** Adds a key that `find` did not find. */
  def add(hash: Int, address: Int): Unit = {
    if ((count + 1) * 8L > slots.length * 5L) resize(slots.length * 2)
    insert(hash.toLong << 32 | (address & 0xffffffffL))
    count += 1
  }

  /** The slot of the key that points at the address, or -1. */
  def slotOf(hash: Int, address: Int): Int = {
    val wanted = hash.toLong << 32 | (address & 0xffffffffL)
    var at = RowIndex.spread(hash) & mask
    while (slots(at) != 0L && slots(at) != wanted) at = (at + 1) & mask
    if (slots(at) == 0L) -1 else at
  }

  /** Others may move. */
  def remove(slot: Int): Unit = {
    var hole = slot
    var at = (hole + 1) & mask
    while (slots(at) != 0L) {
      val home = RowIndex.spread((slots(at) >>> 32).toInt) & mask
      // The slot may move into the hole unless its home lies cyclically in (hole, at].
      if (((at - home) & mask) >= ((at - hole) & mask)) {
        slots(hole) = slots(at)
        hole = at
      }
      at = (at + 1) & mask
    }
    slots(hole) = 0L
    count -= 1
  }

  /** Removes every key for which `drop(address)`. Visits all slots. */
  def removeWhere(drop: Int => Boolean): Unit = {
    val old = slots
    slots = new Array[Long](old.length)
    count = 0
    var i = 0
    while (i < old.length) {
      if (old(i) != 0L && !drop(old(i).toInt)) { insert(old(i)); count += 1 }
      i += 1
    }
  }

  private def insert(slot: Long): Unit = {
    var at = RowIndex.spread((slot >>> 32).toInt) & mask
    while (slots(at) != 0L) at = (at + 1) & mask
    slots(at) = slot
  }

  private def resize(length: Int): Unit = {
    val old = slots
    slots = new Array[Long](length)
    mask = length - 1
    var i = 0
    while (i < old.length) {
      if (old(i) != 0L) insert(old(i))
      i += 1
    }
  }

  private def same(address: Int, family: Int, key: Array[Byte], keyOffset: Int, keyLength: Int): Boolean = {
    val bytes = pages(Page.number(address)).bytes
    entry.read(bytes, Page.offset(address))
    entry.family == family && entry.keyLength == keyLength &&
    java.util.Arrays.equals(bytes, entry.keyOffset, entry.keyOffset + keyLength, key, keyOffset, keyOffset + keyLength)
  }
}

object RowIndex {
  private val Smallest = 64

  /** Keys that are brought near together: more than the processor can wait for at once, fewer than its nearest cache
    * holds.
    */
  val Together = 32

  /** Hash of a key; the low bits of the index come from `spread`. */
  def hash(family: Int, key: Array[Byte], offset: Int, length: Int): Int = {
    var h = (family + 1) * 0x9e3779b97f4a7c15L ^ length
    var at = offset
    val end = offset + length
    while (at + 8 <= end) {
      h = (h ^ Words.get(key, at)) * 0xff51afd7ed558ccdL
      h ^= h >>> 32
      at += 8
    }
    if (at < end) {
      var tail = 0L
      while (at < end) { tail = tail << 8 | (key(at) & 0xffL); at += 1 }
      h = (h ^ tail) * 0xc4ceb9fe1a85ec53L
      h ^= h >>> 32
    }
    (h ^ (h >>> 29)).toInt
  }

  private def spread(hash: Int): Int = {
    val h = hash * 0x9e3779b9
    h ^ (h >>> 16)
  }
}
