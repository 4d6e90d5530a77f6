package io.snapline.spark.operator.task

import java.util.concurrent.TimeUnit.NANOSECONDS
import java.util.concurrent.locks.ReentrantLock

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Rows of a real-time micro-batch: one thread brings them as they come, and another takes those that are there. The
  * bounds are the back-pressure: a reader that brings more waits, and so does the source.
  *
  * @param maxRows
  *   the most rows that wait here
  * @param maxBytes
  *   the most bytes that wait here; one row may be larger
  */
final class LiveRows(maxRows: Int, maxBytes: Long) extends Iterator[InternalRow] {
  private val lock = new ReentrantLock
  private val brought = lock.newCondition()
  private val hasRoom = lock.newCondition()

  // Guarded by the lock.
  private var waiting = mutable.ArrayDeque.empty[UnsafeRow]
  private var waitingBytes = 0L
  private var hasEnded = false
  private var failure: Throwable = _

  /** The taker's own. */
  private var taken = mutable.ArrayDeque.empty[UnsafeRow]

  /** The row is the reader's from now on. Waits for room. */
  def put(row: UnsafeRow): Unit = locked {
    while (waiting.nonEmpty && (waiting.size >= maxRows || waitingBytes + row.getSizeInBytes > maxBytes))
      hasRoom.await()
    waiting += row
    waitingBytes += row.getSizeInBytes
    brought.signal()
  }

  /** No more rows come. `cause`: of what the taker is to fail with; null: it is the batch's end. */
  def end(cause: Throwable): Unit = locked {
    hasEnded = true
    failure = cause
    brought.signal()
  }

  /** Whether a row is there now. */
  def isReady: Boolean = taken.nonEmpty || fetch(0)

  /** Whether all rows were taken, and no more come. */
  def isOver: Boolean = !isReady && locked(hasEnded && waiting.isEmpty)

  /** Waits for a row or the end, but not for ever. */
  def await(nanos: Long): Unit = if (taken.isEmpty) fetch(nanos): Unit

  /** Waits for a row or the end. */
  override def hasNext: Boolean = {
    while (!isReady && !isOver) await(LiveRows.LookNanos)
    isReady
  }

  override def next(): InternalRow =
    if (hasNext) taken.removeHead() else throw new NoSuchElementException("all rows were taken")

  private def fetch(nanos: Long): Boolean = locked {
    var left = nanos
    while (waiting.isEmpty && !hasEnded && left > 0) left = brought.awaitNanos(left)
    if (waiting.isEmpty && failure != null) throw failure
    val empty = taken
    taken = waiting
    waiting = empty
    waitingBytes = 0
    hasRoom.signal()
    taken.nonEmpty
  }

  private def locked[T](body: => T): T = {
    lock.lockInterruptibly()
    try body
    finally lock.unlock()
  }
}

private object LiveRows {
  private val LookNanos = NANOSECONDS.convert(java.time.Duration.ofSeconds(1))
}
