package io.snapline.state.rowtable

import io.snapline.error.StorageFailure

/** The pages of a row table that take entries now, and the room for them: which pages go, and what becomes of their
  * rows.
  *
  * Owned by the table.
  */
private[rowtable] final class OpenPages(pages: PageList, index: RowIndex, owner: PageOwner) {
  private var logging: Page = _
  private var clean: Page = _
  private var number = 0
  private val walker = new Entry

  // Entries that `look` has found: `lookedAt` of them.
  private val offsets, hashes = new Array[Int](RowIndex.Together)
  private var lookedAt = 0

  /** Whether a page went since the last call of `logPage` began: slots have moved then. */
  var madeRoom = false

  /** Counts the pages that went and had an entry that the index pointed at. */
  var dropped = 0L

  /** The page that takes changes, or null. */
  def log: Page = logging

  /** The number of the snapshot interval. */
  def interval: Int = number

  /** Starts a new snapshot interval: what was logged before is not changed any more. */
  def startInterval(): Unit = {
    number += 1
    if (logging != null) {
      logging.interval = number
      logging.intervalFrom = logging.used
    }
  }

  /** The page for the next change, of so many bytes. */
  def logPage(size: Int): Page = {
    madeRoom = false
    if (logging == null || logging.free < size) {
      val full = logging
      logging = null
      if (full != null) seal(full)
      logging = take(size, log = true)
    }
    logging
  }

  /** The page for the next row from below. */
  def cleanPage(size: Int): Page = {
    if (clean == null || clean.free < size) {
      val full = clean
      clean = null
      if (full != null) seal(full)
      clean = take(size, log = false)
    }
    clean
  }

  /** The page takes no more entries. */
  def seal(page: Page): Unit = {
    if (page.log) owner.closed(page)
    page.sealedOff = true
    pages.lostRow(page)
  }

  /** A page more, once there is room. */
  def take(size: Int, log: Boolean): Page = {
    val length = usualLength(size)
    giveBackEmpty()
    makeRoom(length)
    if (!pages.hasNumber) dropOldest()
    val page = pages.add(length, log)
    page.interval = number
    page
  }

  /** Pages grow with the table: thousands of small stores may share a JVM. */
  private def usualLength(size: Int): Int =
    math.max(size, math.min(Page.Size.toLong, math.max(Page.Smallest.toLong, pages.bytes / 2)).toInt)

  private def giveBackEmpty(): Unit = {
    var page = pages.nextEmpty()
    while (page != null) {
      drop(page, keepsRows = false)
      page = pages.nextEmpty()
    }
  }

  /** Until a page of this length fits. */
  def makeRoom(length: Int): Unit =
    while (pages.isFull(length) && !pages.isEmpty) {
      val sparse = pages.nextSparse()
      if (sparse == null) dropOldest()
      else {
        if (sparse.log) owner.apply(sparse)
        drop(sparse, keepsRows = true)
      }
    }

  private def dropOldest(): Unit = {
    val page = pages.oldest
    if (page == null)
      throw new StorageFailure("A row table has no page left to drop.", "give the state backend more memory.")
    if (page == clean) clean = null
    else if (page == logging) {
      owner.closed(page)
      logging = null
    }
    if (page.log) owner.apply(page)
    drop(page, keepsRows = false)
  }

  /** @param page
    *   whose changes are in RocksDB
    * @param keepsRows
    *   they move, while there is a page for them
    */
  private def drop(page: Page, keepsRows: Boolean): Unit = {
    madeRoom = true
    if (page.rows + page.marks > 0) dropped += 1
    var at = 0
    while (page.rows + page.marks > 0 && at < page.used) {
      at = look(page, at)
      var i = 0
      while (i < lookedAt) { leave(page, offsets(i), hashes(i), keepsRows); i += 1 }
    }
    pages.remove(page)
  }

  /** Finds the next entries of a page from an offset on, and brings their slots near, all at once.
    *
    * @return
    *   the offset after them
    */
  private def look(page: Page, from: Int): Int = {
    lookedAt = 0
    var at = from
    while (lookedAt < hashes.length && at < page.used) {
      walker.read(page.bytes, at)
      if (walker.op != Op.Void && walker.op != Op.DeleteRange) {
        offsets(lookedAt) = at
        hashes(lookedAt) = RowIndex.hash(walker.family, page.bytes, walker.keyOffset, walker.keyLength)
        lookedAt += 1
      }
      at = walker.end
    }
    index.touchSlots(hashes, lookedAt)
    at
  }

  /** The page no longer has this entry. */
  private def leave(page: Page, at: Int, hash: Int, keepsRows: Boolean): Unit = {
    val slot = index.slotOf(hash, Page.address(page.number, at))
    if (slot >= 0) {
      walker.read(page.bytes, at)
      val isRow = OpenPages.isRow(walker.op)
      if (isRow) page.rows -= 1 else page.marks -= 1
      if (!(isRow && keepsRows && move(page, at, slot))) {
        index.remove(slot)
        if (isRow) owner.lost(walker.family, hash)
      }
    }
  }

  /** Copies the row that `walker` is at. The page that it leaves makes up for one that is taken beyond the limit. */
  private def move(from: Page, at: Int, slot: Int): Boolean = {
    val size = walker.end - at
    val fits = clean != null && clean.free >= size
    if (fits || pages.hasNumber) {
      if (!fits) {
        val full = clean
        clean = pages.add(usualLength(size), log = false)
        if (full != null) seal(full)
      }
      System.arraycopy(from.bytes, at, clean.bytes, clean.used, size)
      index.setAddress(slot, Page.address(clean.number, clean.used))
      clean.used += size
      clean.written += 1
      entered(clean, walker.op)
      true
    } else false
  }

  /** The index points at an entry of the page, from now on. */
  def entered(page: Page, op: Int): Unit = if (OpenPages.isRow(op)) page.rows += 1 else page.marks += 1

  /** It no longer does. */
  def left(page: Page, op: Int): Unit = {
    if (OpenPages.isRow(op)) page.rows -= 1 else page.marks -= 1
    pages.lostRow(page)
  }
}

private[rowtable] object OpenPages {

  /** Whether it gives the key a value; else it says that there is none. */
  def isRow(op: Int): Boolean = op == Op.Put || op == Op.Merge
}
