package io.snapline.state

import java.io.File

import io.snapline.state.timeindex.{IndexMemory, TimeIndex}

/** One named state of one partition: a sorted map of byte strings.
  *
  * Keys and values are slices of the caller's arrays, copied before a call returns. Arrays that come back are the
  * caller's. A family is used by one thread at a time.
  */
trait ColumnFamily {
  def descriptor: FamilyDescriptor

  /** How many keys the family holds now, exact. */
  def keyCount: Long

  /** Grows with every row that comes, by whatever way. */
  def putCount: Long

  /** The value, or null. */
  def get(key: Array[Byte], offset: Int, length: Int): Array[Byte]

  final def get(key: Array[Byte]): Array[Byte] = get(key, 0, key.length)

  /** `get` will be asked for these keys: brings their rows near where that saves time, and else does not ask for them.
    */
  def expect(keys: => Array[Array[Byte]]): Unit = ()

  /** The values of many keys, null where a key is absent, in the order of the keys. */
  def multiGet(keys: Array[Array[Byte]]): Array[Array[Byte]]

  def contains(key: Array[Byte], offset: Int, length: Int): Boolean

  final def contains(key: Array[Byte]): Boolean = contains(key, 0, key.length)

  def put(
      key: Array[Byte],
      keyOffset: Int,
      keyLength: Int,
      value: Array[Byte],
      valueOffset: Int,
      valueLength: Int
  ): Unit

  final def put(key: Array[Byte], value: Array[Byte]): Unit = put(key, 0, key.length, value, 0, value.length)

  /** Appends the bytes to the value; a missing value counts as empty. */
  def merge(
      key: Array[Byte],
      keyOffset: Int,
      keyLength: Int,
      value: Array[Byte],
      valueOffset: Int,
      valueLength: Int
  ): Unit

  final def merge(key: Array[Byte], value: Array[Byte]): Unit = merge(key, 0, key.length, value, 0, value.length)

  /** Whether the key was there. */
  def delete(key: Array[Byte], offset: Int, length: Int): Boolean

  final def delete(key: Array[Byte]): Boolean = delete(key, 0, key.length)

  /** Deletes every key in [from, until), unsigned byte order. */
  def deleteRange(from: Array[Byte], until: Array[Byte]): Unit

  /** Tells how long the prefix is that a key will be scanned by. Scans may be faster then. */
  def hasPrefixes(length: PrefixLength): Unit = ()

  /** Rows whose key begins with the prefix, as of now: later changes do not show. */
  def prefixScan(prefix: Array[Byte]): RowCursor

  /** Rows in [from, until); null for an open end. As of now. */
  def rangeScan(from: Array[Byte], until: Array[Byte]): RowCursor

  /** All rows, as of now. */
  final def iterate(): RowCursor = rangeScan(null, null)

  private var times: TimeIndex = _

  /** Its keys by the times of its rows, or null. Kept by whoever puts the rows: the family does not know their times.
    */
  final def timeIndex: TimeIndex = times

  /** An empty one in the place of the one before. The family closes it.
    *
    * @param of
    *   the column that the times are of
    * @param passed
    *   the time passed already
    */
  final def newTimeIndex(of: Any, passed: Long): TimeIndex = {
    dropTimeIndex()
    times = new TimeIndex(of, IndexMemory.ofTimes, () => newIndexFile(), passed)
    times
  }

  final def dropTimeIndex(): Unit = if (times != null) {
    times.close()
    times = null
  }

  /** Memory of what finds its rows faster, beside the rows. */
  def indexBytes: Long = if (times == null) 0 else times.bytes

  /** A name on the local disk that nobody uses. */
  protected def newIndexFile(): File
}

/** The properties of a column family (one named state), fixed when it is made.
  *
  * @param id
  *   0 to 65,535, never used for another family of the same store
  * @param keyGroups
  *   whether keys begin with a key group
  * @param multi
  *   whether values are lists that `merge` appends to
  * @param internal
  *   whether the operator made it for itself (timers, expiry, counts)
  */
final case class FamilyDescriptor(id: Int, name: String, keyGroups: Boolean, multi: Boolean, internal: Boolean)

object FamilyDescriptor {
  val MaxId: Int = 65535
}

/** A walk over the rows of a family in the order of their keys. Owned by the caller, who closes it; the backend closes
  * what is left open.
  */
trait RowCursor extends AutoCloseable {

  /** Moves to the next row; false at the end, where the cursor has closed itself. */
  def next(): Boolean

  /** The key of the current row, a fresh array. */
  def key: Array[Byte]

  /** The value of the current row, a fresh array. */
  def value: Array[Byte]

  /** May be called more than once. */
  override def close(): Unit
}

/** The length of the prefix by which rows are scanned, in bytes. */
trait PrefixLength {
  def of(key: Array[Byte], offset: Int, length: Int): Int
}

/** Rows that were read already, in the order of their keys. */
final class ReadRows(keys: Array[Array[Byte]], values: Array[Array[Byte]]) extends RowCursor {
  private var at = -1

  override def next(): Boolean = {
    if (at < keys.length) at += 1
    at < keys.length
  }

  override def key: Array[Byte] = keys(at)

  override def value: Array[Byte] = values(at)

  override def close(): Unit = at = keys.length
}

/** Arithmetic on byte-string ranges, unsigned order. */
object Ranges {

  /** The first key after all keys with this prefix; null if there is none. */
  def afterPrefix(prefix: Array[Byte]): Array[Byte] = {
    var last = prefix.length - 1
    while (last >= 0 && prefix(last) == -1) last -= 1
    if (last < 0) null
    else {
      val after = java.util.Arrays.copyOf(prefix, last + 1)
      after(last) = (after(last) + 1).toByte
      after
    }
  }

  def within(bytes: Array[Byte], offset: Int, length: Int, from: Array[Byte], until: Array[Byte]): Boolean =
    java.util.Arrays.compareUnsigned(bytes, offset, offset + length, from, 0, from.length) >= 0 &&
      java.util.Arrays.compareUnsigned(bytes, offset, offset + length, until, 0, until.length) < 0
}
