package io.snapline.state.rocksdb

import java.util.ArrayDeque
import java.util.concurrent.locks.ReentrantLock

import scala.jdk.CollectionConverters._

import io.snapline.state.rowtable.Page

/** Changes on their way from the row table to RocksDB, in the order they were made, with markers between them where
  * snapshots are due.
  *
  * Owns no memory: pages belong to the table. Any thread may drain, one at a time, so whoever needs later changes
  * applied carries out the markers before them. Adding never waits for a drain.
  *
  * @param applyRuns
  *   writes the entries of some runs to RocksDB
  */
final class ChangeQueue(applyRuns: IndexedSeq[ChangeQueue.Run] => Unit) {

  /** Guarded by its own monitor, held for moments only. */
  private val items = new ArrayDeque[ChangeQueue.Item]
  private val draining = new ReentrantLock
  private var closed = false
  @volatile private var broken: Throwable = _
  @volatile private var nanos = 0L

  /** Time spent applying, in nanoseconds. */
  def drainNanos: Long = nanos

  /** Queues what the page holds beyond what has been queued of it. */
  def add(page: Page): Unit = items.synchronized {
    if (page.used > page.queuedTo) {
      if (!closed) items.add(ChangeQueue.Run(page, page.queuedTo, page.used)): Unit
      page.queuedTo = page.used
      page.pendingRuns += 1
    }
  }

  /** Queues a marker; it runs on the thread that reaches it, after everything queued before has been applied and before
    * anything queued after.
    */
  def mark(marker: Runnable): Unit = items.synchronized(if (!closed) items.add(ChangeQueue.Mark(marker)): Unit)

  def drain(): Unit = drainWhile(() => true)

  def drain(page: Page): Unit = drainWhile(() => items.synchronized(page.pendingRuns > 0))

  def drainWhile(more: () => Boolean): Unit = exclusively {
    while (more() && head != null) step()
  }

  /** Forgets what is queued; nothing is applied from now on. */
  def close(): Unit = exclusively(items.synchronized {
    closed = true
    items.clear()
  })

  /** Runs `body` while nobody drains. */
  def exclusively[A](body: => A): A = {
    draining.lock()
    try body
    finally draining.unlock()
  }

  /** Whether all changes could be applied so far. Any thread. */
  def isSound: Boolean = broken == null

  /** Fails if a change could not be applied: what RocksDB holds is then unknown. */
  def checkSound(): Unit = if (broken != null) {
    throw RocksDbFailure(
      s"RocksDB refused a change: ${broken.getMessage}.",
      "free space on the executor's local disk (spark.local.dir); the task is retried from the last version in storage.",
      broken
    )
  }

  private def head: ChangeQueue.Item = items.synchronized(items.peek())

  /** Those before the next marker, some at once. */
  private def firstRuns: IndexedSeq[ChangeQueue.Run] = items.synchronized {
    var bytes = 0L
    items.iterator.asScala
      .takeWhile {
        case run: ChangeQueue.Run =>
          bytes += run.until - run.from
          bytes == run.until - run.from || bytes <= ChangeQueue.Together
        case _ => false
      }
      .collect { case run: ChangeQueue.Run => run }
      .toIndexedSeq
  }

  private def step(): Unit = {
    checkSound()
    val begun = System.nanoTime()
    head match {
      case ChangeQueue.Mark(marker) =>
        marker.run()
        items.synchronized(items.poll(): Unit)
      case _ =>
        val runs = firstRuns
        try applyRuns(runs)
        catch {
          // A run may have been applied in part, and merges must not be applied twice.
          case e: Throwable => broken = e; checkSound()
        }
        items.synchronized(runs.foreach { run =>
          run.page.pendingRuns -= 1
          items.poll(): Unit
        })
    }
    nanos += System.nanoTime() - begun
  }
}

object ChangeQueue {
  sealed trait Item

  /** The changes of a page between two offsets. */
  final case class Run(page: Page, from: Int, until: Int) extends Item
  private final case class Mark(marker: Runnable) extends Item

  /** Bytes of runs that are applied, and sorted, at once: a task may have to wait for them. */
  private val Together = 8L << 20
}
