package io.snapline.state.timeindex

import java.io.File
import java.util.ArrayList

/** The keys of a family by the times of their rows: finds the rows whose time has come without a walk over the others.
  *
  * A radix heap (docs/notes/016-eviction.md): an entry lies in a bucket by the highest of its time's 16 hexadecimal
  * digits that differs from the time passed last. An entry moves at most once for each digit on its way to the front.
  *
  * It promises an entry at or before the time of each row, and no more: an entry may be of a row that is gone or has a
  * later time now. Who takes a key looks its row up. It is on no durable storage: whoever finds none, or one that is
  * not `whole`, makes it anew from the rows. One thread.
  *
  * @param of
  *   the column that the times are of: an index of another one is of no use
  * @param newFile
  *   a name on the local disk that nobody uses
  * @param from
  *   the time passed already; entries up to it are due
  */
final class TimeIndex(val of: Any, all: IndexMemory, newFile: () => File, from: Long) extends AutoCloseable {
  import TimeIndex._

  private val memory = all.share
  private val buckets = new Array[TimeBucket](Digits * Fan)

  /** Entries up to here are in the first bucket. As `unsigned` has it. */
  private var passed = unsigned(from)
  private var entries = 0L

  /** The family's `putCount` that the index knows of. */
  var noted = 0L

  /** Whether each row that has a time has its entry. */
  var whole = false

  /** Memory it takes. */
  def bytes: Long = memory.used

  /** Number of entries. */
  def size: Long = entries

  def add(time: Long, key: Array[Byte], offset: Int, length: Int): Unit = {
    val at = place(unsigned(time))
    if (buckets(at) == null) buckets(at) = new TimeBucket(memory, newFile)
    try buckets(at).add(time, key, offset, length)
    catch {
      case e: Throwable =>
        whole = false
        throw e
    }
    entries += 1
  }

  def add(time: Long, key: Array[Byte]): Unit = add(time, key, 0, key.length)

  /** How many entries `take` would look at. */
  def lookedAt(until: Long): Long = {
    var sum = 0L
    var at = 0
    while (at < buckets.length) {
      if (buckets(at) != null && begins(at, until)) sum += buckets(at).size
      at += 1
    }
    sum
  }

  /** Removes all entries up to this time. Returns their keys in ascending order (unsigned), each once. */
  def take(until: Long): Array[Array[Byte]] = KeySort.distinct(takeUnsorted(until))

  /** As `take`, in any order; a key of several entries comes several times. */
  def takeUnsorted(until: Long): Array[Array[Byte]] = {
    val due = new ArrayList[Array[Byte]]
    pass(until)((time, key) => if (time <= until) due.add(key): Unit else add(time, key))
    due.toArray(NoKeys)
  }

  /** Brings all entries up to this time together, where they stay. Returns how many there are. */
  def reach(until: Long): Long = {
    pass(until)(add(_, _))
    if (buckets(0) == null) 0 else buckets(0).size
  }

  /** Forgets all entries up to this time. */
  def drop(until: Long): Unit = pass(until)((time, key) => if (time > until) add(time, key))

  /** Takes the buckets that may have an entry up to this time, and hands over each of their entries. */
  private def pass(until: Long)(each: (Long, Array[Byte]) => Unit): Unit = {
    val reached = buckets.indices.filter(at => buckets(at) != null && begins(at, until)).map { at =>
      val bucket = buckets(at)
      buckets(at) = null
      bucket
    }
    if (java.lang.Long.compareUnsigned(unsigned(until), passed) > 0) passed = unsigned(until)
    // Entries that a failure loses on the way are missing from then on.
    val was = whole
    whole = false
    try reached.foreach { bucket =>
        entries -= bucket.size
        bucket.foreach(each)
        bucket.close()
      }
    finally reached.foreach(_.close())
    whole = was
  }

  /** Where an entry belongs: 0 once it has passed, else by digit. Digit 0 of the lowest place is never ahead. */
  private def place(time: Long): Int =
    if (java.lang.Long.compareUnsigned(time, passed) <= 0) 0
    else {
      val digit = (63 - java.lang.Long.numberOfLeadingZeros(time ^ passed)) >>> 2
      digit * Fan + ((time >>> (digit * 4)) & (Fan - 1)).toInt
    }

  /** Whether the least time that the bucket may hold is not after this one. */
  private def begins(at: Int, until: Long): Boolean = at == 0 || {
    val shift = at / Fan * 4
    val above = if (shift == 60) 0L else passed >>> (shift + 4) << (shift + 4)
    java.lang.Long.compareUnsigned(above | (at % Fan).toLong << shift, unsigned(until)) <= 0
  }

  override def close(): Unit = {
    var at = 0
    while (at < buckets.length) {
      if (buckets(at) != null) buckets(at).close()
      buckets(at) = null
      at += 1
    }
    entries = 0
    whole = false
  }
}

private object TimeIndex {
  val Digits = 16
  val Fan = 16
  val NoKeys = new Array[Array[Byte]](0)

  /** Times in an order that unsigned comparison sees. */
  def unsigned(time: Long): Long = time ^ Long.MinValue
}
