package io.snapline.state.heap

/** An open-addressing table of rows and their hashes. Linear probing, deletion by shifting back, at most three quarters
  * full.
  *
  * Owns its arrays, not the rows. One thread; not changed any more once an image has it.
  *
  * @param stamp
  *   the version it was made in
  */
private[heap] final class HashedRows(logCapacity: Int, val stamp: Int = 0) {
  private var hashes = new Array[Int](1 << logCapacity)
  private var slots = new Array[Array[Byte]](1 << logCapacity)
  private var shift = 32 - logCapacity
  private var count = 0

  def size: Int = count

  def bytes: Long = HashedRows.bytes(slots.length)

  /** Whether one more needs a larger table. */
  def isFull: Boolean = (count + 1) * 4L > slots.length * 3L

  /** The slot of the key, or -1. */
  def find(hash: Int, key: Array[Byte], offset: Int, length: Int): Int = {
    val stored = HashedRows.stored(hash)
    val table = hashes
    val mask = table.length - 1
    var at = home(stored)
    var found = table(at)
    while (found != 0) {
      if (found == stored && Row.hasKey(slots(at), key, offset, length)) return at
      at = (at + 1) & mask
      found = table(at)
    }
    -1
  }

  def row(slot: Int): Array[Byte] = slots(slot)

  def setRow(slot: Int, row: Array[Byte]): Unit = slots(slot) = row

  /** Adds a row whose key is not there; grows if it has to. */
  def insert(hash: Int, row: Array[Byte]): Unit = {
    if (isFull) grow()
    place(HashedRows.stored(hash), row)
    count += 1
  }

  def removeAt(slot: Int): Unit = {
    val mask = hashes.length - 1
    var hole = slot
    var at = (hole + 1) & mask
    while (hashes(at) != 0) {
      // The row may move into the hole unless its home lies cyclically in (hole, at].
      if (((at - home(hashes(at))) & mask) >= ((at - hole) & mask)) {
        hashes(hole) = hashes(at)
        slots(hole) = slots(at)
        hole = at
      }
      at = (at + 1) & mask
    }
    hashes(hole) = 0
    slots(hole) = null
    count -= 1
  }

  def foreach(each: (Int, Array[Byte]) => Unit): Unit = {
    var i = 0
    while (i < slots.length) {
      if (slots(i) != null) each(hashes(i), slots(i))
      i += 1
    }
  }

  def copy(stamp: Int): HashedRows = {
    val copied = new HashedRows(0, stamp)
    copied.hashes = hashes.clone()
    copied.slots = slots.clone()
    copied.shift = shift
    copied.count = count
    copied
  }

  private def grow(): Unit = {
    val (oldHashes, old) = (hashes, slots)
    hashes = new Array[Int](old.length * 2)
    slots = new Array[Array[Byte]](old.length * 2)
    shift -= 1
    var i = 0
    while (i < old.length) {
      if (old(i) != null) place(oldHashes(i), old(i))
      i += 1
    }
  }

  private def place(stored: Int, row: Array[Byte]): Unit = {
    val mask = hashes.length - 1
    var at = home(stored)
    while (hashes(at) != 0) at = (at + 1) & mask
    hashes(at) = stored
    slots(at) = row
  }

  /** High bits of a product: the low bits of the hash choose the segment. */
  private def home(stored: Int): Int = (stored * 0x9e3779b9) >>> shift
}

private[heap] object HashedRows {
  val SmallestLog = 4

  /** 0 marks an empty slot. */
  def stored(hash: Int): Int = if (hash == 0) 1 else hash

  def bytes(capacity: Int): Long =
    HeapLayout.ints(capacity) + HeapLayout.references(capacity) + HeapLayout.instance(2, 12)

  /** Large enough for so many rows and a few more. */
  def logCapacity(rows: Int): Int =
    math.max(SmallestLog, 32 - Integer.numberOfLeadingZeros(math.max(1, (rows * 3L / 2).toInt)))
}
