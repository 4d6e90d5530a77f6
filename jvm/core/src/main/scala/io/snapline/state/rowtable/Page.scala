package io.snapline.state.rowtable

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

  def free: Int = bytes.length - used

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
