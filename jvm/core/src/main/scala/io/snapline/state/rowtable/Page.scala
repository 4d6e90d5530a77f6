package io.snapline.state.rowtable

import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}

/** A run of entries, appended to and never moved.
  *
  * Owned by one [[RowTable]]. Only the thread that holds the backend appends; a drain may read, from another thread,
  * what has been queued before the last marker, which is never changed again.
  *
  * @param number
  *   1 to 16,383; with an offset it makes an address. Free again once the page is dropped
  * @param log
  *   whether entries are changes (else: rows read from below, which no changelog holds)
  */
final class Page(val bytes: Array[Byte], val number: Int, val log: Boolean) {

  /** Bytes in use. */
  var used: Int = 0

  /** Entries below this offset have been queued for RocksDB: they are not overwritten any more. */
  var queuedTo: Int = 0

  /** Entries below this offset have been handed to the changelog: likewise. */
  var writtenTo: Int = 0

  /** Entries written and not yet handed to the changelog. */
  var unwrittenCount: Int = 0

  /** The snapshot interval that entries from `intervalFrom` on belong to; those before belong to an earlier one. */
  var interval: Int = 0
  var intervalFrom: Int = 0

  /** Runs of this page in the queue and not yet in RocksDB; guarded by the queue's lock. */
  var pendingRuns: Int = 0

  /** Entries that the index points at: rows, and marks that a key has none. */
  var rows: Int = 0
  var marks: Int = 0

  /** All rows that were written into it, and those that were replaced since among them. */
  var written: Int = 0

  /** No entry is added any more. */
  var sealedOff: Boolean = false

  /** Whether it is among the pages that [[PageList]] names as empty, or as sparse. */
  var listedEmpty: Boolean = false
  var listedSparse: Boolean = false

  def free: Int = bytes.length - used

  /** Whether nothing is lost with it. The marks of a log page are of use until its changes are in RocksDB; those of the
    * others save a look there.
    */
  def isEmpty: Boolean = rows == 0 && (log || marks == 0)

  /** Whether so little is left that moving it costs less than the room it holds. */
  def isSparse: Boolean = rows * 4 <= written

  /** Whether an entry may still be changed in place. */
  def open(offset: Int): Boolean = offset >= queuedTo && offset >= writtenTo
}

object Page {
  val OffsetBits: Int = 18
  val Size: Int = 1 << OffsetBits
  val Smallest: Int = 4 << 10
  val MaxNumber: Int = (1 << (32 - OffsetBits)) - 1

  def address(number: Int, offset: Int): Int = number << OffsetBits | offset
  def number(address: Int): Int = address >>> OffsetBits
  def offset(address: Int): Int = address & (Size - 1)
}

/** The memory all row tables of a JVM share. Owned by whoever makes it (one for the JVM); holds no page itself.
  *
  * A table may take free memory. Once nothing is free, a table over its equal share frees its oldest pages first. One
  * under its share may grow up to it. So the sum stays below twice the limit, and below the limit once every table has
  * been used or trimmed again.
  */
final class PageMemory(val limit: Long) {
  private val taken = new AtomicLong
  private val tables = new AtomicInteger

  def used: Long = taken.get

  def share: Long = limit / math.max(1, tables.get)

  private[rowtable] def join(): Unit = tables.incrementAndGet()

  private[rowtable] def leave(bytes: Long): Unit = {
    taken.addAndGet(-bytes)
    tables.decrementAndGet()
  }

  private[rowtable] def take(bytes: Long): Unit = taken.addAndGet(bytes)

  private[rowtable] def give(bytes: Long): Unit = taken.addAndGet(-bytes)

  /** Whether a table that holds `own` bytes has to make room before it takes `more`. */
  def mustMakeRoom(own: Long, more: Long): Boolean = own + more > PageMemory.Floor && taken.get + more > limit &&
    own + more > share
}

object PageMemory {

  /** Bytes that a table may always hold, so that a thousand stores in one JVM still work: four pages. */
  val Floor: Long = 4L * Page.Size
}
