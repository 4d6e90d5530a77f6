package io.snapline.state.rocksdb

import java.util.Arrays

/** The key below which a family is known to have no rows. Scans begin there. Entries that are removed in order of time
  * (timers, expiries) leave tombstones at the beginning. Each scan would pass them again until they are compacted away.
  *
  * Belongs to the thread that holds the backend, like all that changes rows. Learned from the first row that a scan
  * finds, kept true by every put, and forgotten where rows come by another way.
  */
private[rocksdb] final class LowestKey {
  private var known: Array[Byte] = _
  private var none = false

  /** Whether there is no row at all. */
  def isNone: Boolean = none

  /** Where a scan from a key, or from the beginning if it is null, has to begin. */
  def from(wanted: Array[Byte]): Array[Byte] =
    if (known == null || wanted != null && Arrays.compareUnsigned(wanted, known) >= 0) wanted else known

  /** A scan from the beginning has found this key first; null: it has found nothing before its end.
    *
    * @param end
    *   null for the end of the family
    */
  def learn(first: Array[Byte], end: Array[Byte]): Unit = {
    known = if (first == null) end else first
    none = known == null
  }

  def put(key: Array[Byte], offset: Int, length: Int): Unit =
    if (none || known != null && Arrays.compareUnsigned(key, offset, offset + length, known, 0, known.length) < 0) {
      known = Arrays.copyOfRange(key, offset, offset + length)
      none = false
    }

  def forget(): Unit = {
    known = null
    none = false
  }
}
