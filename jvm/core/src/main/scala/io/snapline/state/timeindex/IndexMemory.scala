package io.snapline.state.timeindex

import java.util.concurrent.atomic.AtomicLong

/** The heap that the indexes of one kind share in a JVM, in bytes. They keep to the limit by themselves. Any thread.
  *
  * @param whole
  *   this is one index's part of it
  */
final class IndexMemory private (limit: Long, whole: Option[IndexMemory]) {
  def this(limit: Long) = this(limit, None)

  private val taken = new AtomicLong

  def used: Long = taken.get

  def isFull: Boolean = whole.fold(taken.get > limit)(_.isFull)

  def hasRoom(bytes: Long): Boolean = whole.fold(taken.get + bytes <= limit)(_.hasRoom(bytes))

  private[state] def take(bytes: Long): Unit = {
    taken.addAndGet(bytes): Unit
    whole.foreach(_.take(bytes))
  }

  private[state] def give(bytes: Long): Unit = take(-bytes)

  /** For one index, whose bytes are counted by themselves too. */
  private[state] def share: IndexMemory = new IndexMemory(limit, Some(this))
}

object IndexMemory {

  private def sixteenth: Long = Runtime.getRuntime.maxMemory / 16
  private def usual: IndexMemory = new IndexMemory(math.min(64L << 20, sixteenth))

  /** The time indexes of an executor have room for a million short keys. */
  val ofTimes: IndexMemory = usual

  /** For three quarters of a million short prefixes. */
  val ofPrefixes: IndexMemory = usual

  /** Filters of keys that are in RocksDB alone: for 30 to 40 million in each gigabyte of heap. Without one, each new
    * key costs a look at RocksDB.
    */
  val ofKeys: IndexMemory = new IndexMemory(sixteenth)

  /** Bytes that all indexes of the JVM hold. */
  def all: Long = ofTimes.used + ofPrefixes.used + ofKeys.used
}
