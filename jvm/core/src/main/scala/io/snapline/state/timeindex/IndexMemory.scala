package io.snapline.state.timeindex

import java.util.concurrent.atomic.AtomicLong

/** The heap that all time indexes of a JVM share, in bytes. Past its limit their buckets go on in files. Any thread. */
final class IndexMemory(val limit: Long) {
  private val taken = new AtomicLong

  def used: Long = taken.get

  def isFull: Boolean = taken.get > limit

  private[timeindex] def take(bytes: Long): Unit = taken.addAndGet(bytes)

  private[timeindex] def give(bytes: Long): Unit = taken.addAndGet(-bytes)
}

object IndexMemory {

  /** For all stores of an executor: some million short keys. */
  val shared: IndexMemory = new IndexMemory(64L << 20)
}
