package io.snapline.state.rowtable

import java.util.ArrayDeque

import io.snapline.error.StorageFailure

/** The backend of a row table, as the table sees it. */
trait PageOwner {

  /** A log page takes no more entries: hand the rest of it to the changelog and queue it. */
  def closed(page: Page): Unit

  /** The page is about to be dropped: its changes must be in RocksDB when this returns. */
  def apply(page: Page): Unit
}

/** The newest rows of a store, on the heap: an index over pages of entries.
  *
  * Invariant: the newest entry of a key is either found here, or it is in RocksDB and no older one is here. So a key
  * that is not found here can be read from RocksDB whatever is still queued.
  *
  * Owned by one backend and used by the thread that holds it. Pages count against [[PageMemory]]; the oldest goes
  * first, after its changes have been applied.
  */
final class RowTable(memory: PageMemory, owner: PageOwner) extends AutoCloseable {
  private val numbered = new Array[Page](1 << 14)
  private var nextNumber = 1
  private val freeNumbers = new ArrayDeque[Integer]
  private val pages = new ArrayDeque[Page]
  private val index = new RowIndex(numbered(_))
  private var log: Page = _
  private var clean: Page = _
  private var own = 0L
  private var counted = 0L
  private var interval = 0
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

  def usedBytes: Long = own + counted

  def keys: Int = index.size

  /** Finds the newest entry of a key and points `entry` at it; returns its slot, good until the next change, or -1. */
  def find(hash: Int, family: Int, key: Array[Byte], keyOffset: Int, keyLength: Int): Int = {
    val slot = index.find(hash, family, key, keyOffset, keyLength)
    if (slot >= 0) {
      val address = index.address(slot)
      foundPage = numbered(Page.number(address))
      entry.read(foundPage.bytes, Page.offset(address))
    }
    slot
  }

  /** Brings the rows of these hashes near, for the `find`s that follow. */
  def touch(hashes: Array[Int], count: Int): Unit = touched += index.touch(hashes, count)
  private var touched = 0L

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
      if (page.log && page.interval == interval && offset >= page.intervalFrom) {
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
    val page = logPage(size)
    // Making room may have moved the slot, or dropped the older entry with its page.
    val now = if (slot >= 0 && madeRoom) find(hash, family, key, keyOffset, keyLength) else slot
    if (voids && now >= 0) Entry.makeVoid(foundPage.bytes, Page.offset(index.address(now)))
    if (marked) logVoid(page, family, key, 0, 0)
    val offset = page.used
    page.used = Entry.write(page.bytes, offset, op, family, key, keyOffset, keyLength, value, valueOffset, valueLength)
    page.unwrittenCount += 1
    val address = Page.address(page.number, offset)
    if (now < 0) add(hash, address) else index.setAddress(now, address)
  }

  /** Logs the deletion of a key that is not there, if somebody wants to see it. */
  def logNothingDeleted(family: Int, key: Array[Byte], keyOffset: Int, keyLength: Int): Unit =
    if (eachChange) logVoid(logPage(Entry.size(family, keyLength, 0)), family, key, keyOffset, keyLength)

  private def logVoid(page: Page, family: Int, key: Array[Byte], keyOffset: Int, keyLength: Int): Unit = {
    page.used = Entry.write(page.bytes, page.used, Op.Void, family, key, keyOffset, keyLength, null, 0, 0)
    page.unwrittenCount += 1
  }

  /** Logs an operation that belongs to no single key. */
  def logRange(family: Int, from: Array[Byte], until: Array[Byte]): Unit = {
    val page = logPage(Entry.size(family, from.length, until.length))
    page.used =
      Entry.write(page.bytes, page.used, Op.DeleteRange, family, from, 0, from.length, until, 0, until.length)
    page.unwrittenCount += 1
  }

  /** Remembers what RocksDB holds for a key that `find` did not find; value null: nothing. */
  def remember(hash: Int, family: Int, key: Array[Byte], keyOffset: Int, keyLength: Int, value: Array[Byte]): Unit = {
    val op = if (value == null) Op.Absent else Op.Put
    val length = if (value == null) 0 else value.length
    val size = Entry.size(family, keyLength, length)
    if (size <= Page.Size / 4) {
      val page = cleanPage(size)
      val offset = page.used
      page.used = Entry.write(page.bytes, offset, op, family, key, keyOffset, keyLength, value, 0, length)
      add(hash, Page.address(page.number, offset))
    }
  }

  /** The page `adopt` is filling. */
  var adopted: Page = _

  /** Takes a run of entries from a changelog as a log page and points the index at them. */
  def adopt(run: Array[Byte], length: Int, entered: Entry => Unit): Unit = {
    val page = take(length, log = true)
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
        if (slot < 0) add(hash, address)
        else {
          if (walker.op != Op.Merge) voidOlder(index.address(slot))
          index.setAddress(slot, address)
        }
      }
      entered(walker)
      at = walker.end
    }
    owner.closed(page)
  }

  /** Forgets every row of a family, or those of its keys that `drop` names. All changes must have been applied. */
  def forget(family: Int, drop: (Array[Byte], Int, Int) => Boolean): Unit =
    index.removeWhere { address =>
      val page = numbered(Page.number(address))
      sweeper.read(page.bytes, Page.offset(address))
      sweeper.family == family && drop(page.bytes, sweeper.keyOffset, sweeper.keyLength)
    }

  /** The page that takes changes now, or null. */
  def current: Page = log

  /** Starts a new snapshot interval: what was logged before is not changed any more. */
  def startInterval(): Unit = {
    interval += 1
    if (log != null) {
      log.interval = interval
      log.intervalFrom = log.used
    }
  }

  /** Gives pages back while this table holds more than its share of a full memory. */
  def trim(): Unit = makeRoom(0)

  override def close(): Unit = {
    memory.leave(own + counted)
    own = 0
    counted = 0
    pages.clear()
  }

  private var madeRoom = false

  private def logPage(size: Int): Page = {
    madeRoom = false
    if (log == null || log.free < size) {
      if (log != null) {
        owner.closed(log)
        log = null
      }
      log = take(size, log = true)
    }
    log
  }

  private def cleanPage(size: Int): Page = {
    if (clean == null || clean.free < size) {
      clean = take(size, log = false)
    }
    clean
  }

  private def take(size: Int, log: Boolean): Page = {
    // Pages grow with the table: thousands of small stores may share a JVM.
    val usual = math.min(Page.Size.toLong, math.max(Page.Smallest.toLong, own / 2)).toInt
    val length = math.max(size, usual)
    makeRoom(length)
    val number =
      if (!freeNumbers.isEmpty) freeNumbers.poll().intValue
      else if (nextNumber <= Page.MaxNumber) { nextNumber += 1; nextNumber - 1 }
      else { dropOldest(); freeNumbers.poll().intValue }
    val page = new Page(new Array[Byte](length), number, log)
    page.interval = interval
    numbered(number) = page
    pages.add(page)
    own += length
    memory.take(length)
    page
  }

  private def makeRoom(length: Int): Unit =
    while (memory.mustMakeRoom(own, length) && !pages.isEmpty) dropOldest()

  private def dropOldest(): Unit = {
    madeRoom = true
    val page = pages.poll()
    if (page == null)
      throw new StorageFailure("A row table has no page left to drop.", "give the state backend more memory.")
    if (page == clean) clean = null
    else if (page == log) {
      owner.closed(page)
      log = null
    }
    if (page.log) owner.apply(page)
    var at = 0
    while (at < page.used) {
      walker.read(page.bytes, at)
      if (walker.op != Op.Void && walker.op != Op.DeleteRange) {
        index.removeAddress(
          RowIndex.hash(walker.family, page.bytes, walker.keyOffset, walker.keyLength),
          Page.address(page.number, at)
        )
      }
      at = walker.end
    }
    numbered(page.number) = null
    freeNumbers.add(page.number)
    own -= page.bytes.length
    memory.give(page.bytes.length)
  }

  private def add(hash: Int, address: Int): Unit = {
    index.add(hash, address)
    countIndex()
  }

  private def voidOlder(address: Int): Unit = {
    val page = numbered(Page.number(address))
    val offset = Page.offset(address)
    if (page.log && page.interval == interval && offset >= page.intervalFrom) {
      entry.read(page.bytes, offset)
      if (entry.op != Op.Merge) Entry.makeVoid(page.bytes, offset)
    }
  }

  private def countIndex(): Unit =
    if (index.bytes != counted) {
      memory.take(index.bytes - counted)
      counted = index.bytes
    }
}
