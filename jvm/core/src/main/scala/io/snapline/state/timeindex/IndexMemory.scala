package io.snapline.state.timeindex

import java.util.concurrent.atomic.AtomicLong

/** The heap that the indexes of one kind share in a JVM, in bytes. They keep to the limit by themselves. Any thread. */
final class IndexMemory(val limit: Long) {
  private val taken = new AtomicLong

  def used: Long = taken.get

  def isFull: Boolean = taken.get > limit

  private[state] def take(bytes: Long): Unit = taken.addAndGet(bytes)

  private[state] def give(bytes: Long): Unit = taken.addAndGet(-bytes)
}

object IndexMemory {

  /** A sixteenth of the heap, and at most 64 MB. */
  def usual: IndexMemory = new IndexMemory(math.min(64L << 20, Runtime.getRuntime.maxMemory / 16))

  /** The time indexes of an executor have room for a million short keys. */
  val ofTimes: IndexMemory = usual
}
