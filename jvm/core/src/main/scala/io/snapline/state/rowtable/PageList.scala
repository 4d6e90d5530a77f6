package io.snapline.state.rowtable

import java.util.ArrayDeque

/** The pages of one row table, by number and by age, and those that hold few rows or none. Pages count against
  * [[PageMemory]].
  *
  * Owned by the table.
  */
private[rowtable] final class PageList(memory: PageMemory) {
  private var numbered = new Array[Page](16)
  private var nextNumber = 1
  private val freeNumbers = new ArrayDeque[Integer]
  private val byAge = new ArrayDeque[Page]
  private val empty = new ArrayDeque[Page]
  private val sparse = new ArrayDeque[Page]
  private var own = 0L

  def apply(number: Int): Page = numbered(number)

  /** Bytes of all pages. */
  def bytes: Long = own

  def isEmpty: Boolean = byAge.isEmpty

  def oldest: Page = byAge.peek()

  /** Whether a page less is needed before one of so many bytes is added. */
  def isFull(length: Int): Boolean = memory.mustMakeRoom(own, length)

  /** Whether one more page can have a number. */
  def hasNumber: Boolean = !freeNumbers.isEmpty || nextNumber <= Page.MaxNumber

  def add(length: Int, log: Boolean): Page = {
    val number = if (freeNumbers.isEmpty) { nextNumber += 1; nextNumber - 1 }
    else freeNumbers.poll().intValue
    if (number >= numbered.length) numbered = java.util.Arrays.copyOf(numbered, numbered.length * 2)
    val page = new Page(new Array[Byte](length), number, log)
    numbered(number) = page
    byAge.add(page)
    own += length
    memory.take(length)
    page
  }

  /** Nothing points at it any more. */
  def remove(page: Page): Unit = {
    byAge.removeFirstOccurrence(page): Unit
    numbered(page.number) = null
    freeNumbers.add(page.number)
    own -= page.bytes.length
    memory.give(page.bytes.length)
  }

  def clear(): Unit = {
    byAge.clear()
    empty.clear()
    sparse.clear()
    own = 0
  }

  /** A page that is complete, and may have lost a row: it is listed if it has few. */
  def lostRow(page: Page): Unit = if (page.sealedOff) {
    if (page.isEmpty) {
      if (!page.listedEmpty) {
        page.listedEmpty = true
        empty.add(page)
      }
    } else if (!page.listedSparse && page.isSparse) {
      page.listedSparse = true
      sparse.add(page)
    }
  }

  /** The next page without rows whose changes are in RocksDB, or null. It is not listed any more. */
  def nextEmpty(): Page = {
    var looked = math.min(empty.size, PageList.Looks)
    var found: Page = null
    while (found == null && looked > 0) {
      val page = empty.poll()
      if (isHere(page)) { if (page.pendingRuns == 0) found = page else empty.add(page) }
      looked -= 1
    }
    found
  }

  /** The next page with few rows or none, or null. It is not listed any more. */
  def nextSparse(): Page = {
    var found: Page = null
    while (found == null && !(empty.isEmpty && sparse.isEmpty)) {
      val page = if (empty.isEmpty) sparse.poll() else empty.poll()
      if (isHere(page)) found = page
    }
    found
  }

  private def isHere(page: Page): Boolean = numbered(page.number) eq page
}

private object PageList {

  /** Pages looked at for one whose changes are in RocksDB: they get there in the order of their age. */
  private val Looks = 8
}
