package io.snapline.state.rowtable

import java.util.{ArrayDeque, LinkedHashSet}

/** The pages of one row table, by number and by age, and those that hold few rows or none. Pages count against
  * [[PageMemory]].
  *
  * Owned by the table.
  */
private[rowtable] final class PageList(memory: PageMemory) {
  private var numbered = new Array[Page](16)
  private var nextNumber = 1
  private val freeNumbers = new ArrayDeque[Integer]
  private val byAge = new LinkedHashSet[Page]
  private val empty = new LinkedHashSet[Page]
  private val sparse = new LinkedHashSet[Page]
  private var own = 0L

  def apply(number: Int): Page = numbered(number)

  /** Bytes of all pages. */
  def bytes: Long = own

  def isEmpty: Boolean = byAge.isEmpty

  def oldest: Page = first(byAge)

  /** Whether a page less is needed before one of so many bytes is added. */
  def isFull(length: Long): Boolean = memory.mustMakeRoom(own, length)

  /** Whether one more page can have a number. */
  def hasNumber: Boolean = !freeNumbers.isEmpty || nextNumber <= Page.MaxNumber

  def add(length: Int, log: Boolean): Page = {
    val number = if (freeNumbers.isEmpty) { nextNumber += 1; nextNumber - 1 }
    else freeNumbers.poll().intValue
    if (number >= numbered.length) numbered = java.util.Arrays.copyOf(numbered, numbered.length * 2)
    val page = new Page(new Array[Byte](length), number, log)
    numbered(number) = page
    byAge.add(page): Unit
    own += length
    memory.take(length)
    page
  }

  /** Nothing points at it any more, and no list holds its memory. */
  def remove(page: Page): Unit = {
    byAge.remove(page): Unit
    empty.remove(page): Unit
    sparse.remove(page): Unit
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
        empty.add(page): Unit
      }
    } else if (!page.listedSparse && page.isSparse) {
      page.listedSparse = true
      sparse.add(page): Unit
    }
  }

  /** A page without rows whose changes are in RocksDB, or null. */
  def nextEmpty(): Page = {
    var looked = math.min(empty.size, PageList.Looks)
    var page = first(empty)
    while (looked > 0 && page.pendingRuns > 0) {
      empty.remove(page): Unit
      empty.add(page): Unit
      page = first(empty)
      looked -= 1
    }
    if (looked > 0) page else null
  }

  /** A page with few rows or none, or null. */
  def nextSparse(): Page = if (empty.isEmpty) first(sparse) else first(empty)

  private def first(of: LinkedHashSet[Page]): Page = if (of.isEmpty) null else of.iterator.next()
}

private object PageList {

  /** Pages looked at for one whose changes are in RocksDB: they get there in the order of their age. */
  private val Looks = 8
}
