package io.snapline.state.rowtable

/** The newest rows of a store, on the heap: an index over pages of entries.
  *
  * Invariant: the newest entry of a key is either found here, or it is in RocksDB and no older one is here. So a key
  * that is not found here can be read from RocksDB whatever is still queued. A family may be here as a whole: then keys
  * that went have no entry, and RocksDB is not asked.
  *
  * Owned by one backend and used by the thread that holds it. A page whose rows have all been replaced or deleted goes
  * when its changes have been applied. Where memory is full, pages with few rows go first, and their rows move; then
  * the oldest goes with its rows.
  */
final class RowTable(memory: PageMemory, owner: PageOwner) extends AutoCloseable {
  private val pages = new PageList(memory)
  private val index = new RowIndex(pages)
  private val open = new OpenPages(pages, index, owner)
  private var counted = 0L
  private val walker = new Entry
  private val sweeper = new Entry

  memory.join()
  countIndex()

  /** Whether every change stays in the log, also one that a later change of its version replaces. */
  var eachChange = false

  /** The entry found last by `find`. */
  val entry = new Entry
  private var foundPage: Page = _

  /** Page bytes behind `entry`. */
  def bytes: Array[Byte] = foundPage.bytes

  def usedBytes: Long = pages.bytes + counted

  def keys: Int = index.size

  /** Grows when a key may have lost its entry to a page that went: the key is in RocksDB then, as the entry had it. */
  def droppedPages: Long = open.dropped

  /** Whether so many bytes more cost no row its place. */
  def hasRoom(size: Long): Boolean = !pages.isFull(size)

  /** Finds the newest entry of a key and points `entry` at it; returns its slot, good until the next change, or -1. */
  def find(hash: Int, family: Int, key: Array[Byte], keyOffset: Int, keyLength: Int): Int = {
    val slot = index.find(hash, family, key, keyOffset, keyLength)
    if (slot >= 0) {
      val address = index.address(slot)
      foundPage = pages(Page.number(address))
      entry.read(foundPage.bytes, Page.offset(address))
    }
    slot
  }

  /** Brings the rows of some keys near, from this one on, for the `find`s that follow, and leaves their hashes. */
  def touch(family: Int, keys: Array[Array[Byte]], from: Int, hashes: Array[Int]): Unit = {
    val count = math.min(hashes.length, keys.length - from)
    var j = 0
    while (j < count) {
      hashes(j) = RowIndex.hash(family, keys(from + j), 0, keys(from + j).length)
      j += 1
    }
    index.touch(hashes, count)
  }

  /** A fresh copy of the value of `entry`. */
  def copyValue(): Array[Byte] =
    java.util.Arrays.copyOfRange(foundPage.bytes, entry.valueOffset, entry.valueOffset + entry.valueLength)

  /** Logs a change of the key that `find` just looked for; `slot` is what it returned, `entry` still what it found.
    *
    * @param appended
    *   the put was asked for as a merge, and there was nothing to append to
    */
  def log(
      slot: Int,
      hash: Int,
      op: Int,
      family: Int,
      key: Array[Byte],
      keyOffset: Int,
      keyLength: Int,
      value: Array[Byte],
      valueOffset: Int,
      valueLength: Int,
      appended: Boolean = false
  ): Unit = {
    var voids = false
    if (slot >= 0) {
      val offset = Page.offset(index.address(slot))
      val page = foundPage
      if (page.log && page.interval == open.interval && offset >= page.intervalFrom) {
        if (
          !eachChange && op == Op.Put && entry.op == Op.Put && entry.valueLength == valueLength && page.open(offset)
        ) {
          System.arraycopy(value, valueOffset, page.bytes, entry.valueOffset, valueLength)
          return
        }
        // A merge needs the entry below it; anything else replaces it.
        voids = op != Op.Merge && entry.op != Op.Merge
      }
    }
    val marked = appended && eachChange
    val size = Entry.size(family, keyLength, valueLength) + (if (marked) Entry.size(family, 0, 0) else 0)
    val page = open.logPage(size)
    // Making room may have moved the slot, or dropped the older entry with its page.
    val now = if (slot >= 0 && open.madeRoom) find(hash, family, key, keyOffset, keyLength) else slot
    if (voids && now >= 0) Entry.makeVoid(foundPage.bytes, Page.offset(index.address(now)))
    if (marked) logVoid(page, family, key, 0, 0)
    val offset = page.used
    page.used = Entry.write(page.bytes, offset, op, family, key, keyOffset, keyLength, value, valueOffset, valueLength)
    page.unwrittenCount += 1
    if (OpenPages.isRow(op)) page.written += 1
    if (now >= 0) open.left(foundPage, entry.op)
    if (op == Op.Delete && owner.leavesNoMark(family)) {
      if (now >= 0) index.remove(now)
    } else {
      open.entered(page, op)
      val address = Page.address(page.number, offset)
      if (now < 0) add(hash, address) else index.setAddress(now, address)
    }
  }

  /** Logs the deletion of a key that is not there, if somebody wants to see it. */
  def logNothingDeleted(family: Int, key: Array[Byte], keyOffset: Int, keyLength: Int): Unit =
    if (eachChange) logVoid(open.logPage(Entry.size(family, keyLength, 0)), family, key, keyOffset, keyLength)

  private def logVoid(page: Page, family: Int, key: Array[Byte], keyOffset: Int, keyLength: Int): Unit = {
    page.used = Entry.write(page.bytes, page.used, Op.Void, family, key, keyOffset, keyLength, null, 0, 0)
    page.unwrittenCount += 1
  }

  /** Logs an operation that belongs to no single key. */
  def logRange(family: Int, from: Array[Byte], until: Array[Byte]): Unit = {
    val page = open.logPage(Entry.size(family, from.length, until.length))
    page.used =
      Entry.write(page.bytes, page.used, Op.DeleteRange, family, from, 0, from.length, until, 0, until.length)
    page.unwrittenCount += 1
  }

  /** Remembers what RocksDB holds for a key that `find` did not find; value null: nothing. */
  def remember(hash: Int, family: Int, key: Array[Byte], keyOffset: Int, keyLength: Int, value: Array[Byte]): Unit = {
    val op = if (value == null) Op.Absent else Op.Put
    val length = if (value == null) 0 else value.length
    val size = Entry.size(family, keyLength, length)
    if (size <= RowTable.LargestKept) {
      val page = open.cleanPage(size)
      val offset = page.used
      page.used = Entry.write(page.bytes, offset, op, family, key, keyOffset, keyLength, value, 0, length)
      if (OpenPages.isRow(op)) page.written += 1
      open.entered(page, op)
      add(hash, Page.address(page.number, offset))
    }
  }

  /** The page `adopt` is filling. */
  var adopted: Page = _

  /** Takes a run of entries from a changelog as a log page and points the index at them. */
  def adopt(run: Array[Byte], length: Int, seen: Entry => Unit): Unit = {
    val page = open.take(length, log = true)
    adopted = page
    System.arraycopy(run, 0, page.bytes, 0, length)
    page.used = length
    page.writtenTo = length
    var at = 0
    while (at < length) {
      walker.read(page.bytes, at)
      if (walker.op != Op.Void && walker.op != Op.DeleteRange) {
        val hash = RowIndex.hash(walker.family, page.bytes, walker.keyOffset, walker.keyLength)
        val slot = index.find(hash, walker.family, page.bytes, walker.keyOffset, walker.keyLength)
        val address = Page.address(page.number, at)
        if (OpenPages.isRow(walker.op)) page.written += 1
        if (slot >= 0) replace(index.address(slot), walker.op)
        if (walker.op == Op.Delete && owner.leavesNoMark(walker.family)) {
          if (slot >= 0) index.remove(slot)
        } else {
          open.entered(page, walker.op)
          if (slot < 0) add(hash, address) else index.setAddress(slot, address)
        }
      }
      seen(walker)
      at = walker.end
    }
    open.seal(page)
  }

  /** Forgets every row of a family, or those of its keys that `drop` names. All changes must have been applied. */
  def forget(family: Int, drop: (Array[Byte], Int, Int) => Boolean): Unit =
    index.removeWhere { address =>
      val page = pages(Page.number(address))
      sweeper.read(page.bytes, Page.offset(address))
      val goes = sweeper.family == family && drop(page.bytes, sweeper.keyOffset, sweeper.keyLength)
      if (goes) open.left(page, sweeper.op)
      goes
    }

  /** The page that takes changes now, or null. */
  def current: Page = open.log

  /** Starts a new snapshot interval: what was logged before is not changed any more. */
  def startInterval(): Unit = open.startInterval()

  /** Gives pages back while this table holds more than its share of a full memory. */
  def trim(): Unit = open.makeRoom(0)

  override def close(): Unit = {
    memory.leave(usedBytes)
    counted = 0
    pages.clear()
  }

  private def add(hash: Int, address: Int): Unit = {
    index.add(hash, address)
    countIndex()
  }

  /** The entry at the address is no longer the newest of its key: one of this operation is. */
  private def replace(address: Int, by: Int): Unit = {
    val page = pages(Page.number(address))
    val offset = Page.offset(address)
    entry.read(page.bytes, offset)
    val voids = page.log && page.interval == open.interval && offset >= page.intervalFrom
    if (voids && by != Op.Merge && entry.op != Op.Merge) Entry.makeVoid(page.bytes, offset)
    open.left(page, entry.op)
  }

  private def countIndex(): Unit =
    if (index.bytes != counted) {
      memory.take(index.bytes - counted)
      counted = index.bytes
    }
}

object RowTable {

  /** Bytes of a row from below that is remembered: larger ones would leave much of a page unused. */
  val LargestKept: Int = Page.Size / 4
}
