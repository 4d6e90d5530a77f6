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

  /** For all stores of an executor: some million short keys. */
  val shared: IndexMemory = new IndexMemory(64L << 20)
}
