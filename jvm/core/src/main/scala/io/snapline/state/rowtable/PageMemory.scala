package io.snapline.state.rowtable

import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}

/** The memory all row tables of a JVM share. Owned by whoever makes it (one for the JVM); holds no page itself.
  *
  * A table may take what is free; once nothing is free, a table over its equal share gives up its oldest pages first,
  * and one under its share may go on up to it. So the sum stays below twice the limit, and below the limit once every
  * table has been used or trimmed again.
  */
final class PageMemory(val limit: Long) {
  private val taken = new AtomicLong
  private val tables = new AtomicInteger

  def used: Long = taken.get

  def share: Long = limit / math.max(1, tables.get)

  private[rowtable] def join(): Unit = tables.incrementAndGet()

  private[rowtable] def leave(bytes: Long): Unit = {
    taken.addAndGet(-bytes)
    tables.decrementAndGet()
  }

  private[rowtable] def take(bytes: Long): Unit = taken.addAndGet(bytes)

  private[rowtable] def give(bytes: Long): Unit = taken.addAndGet(-bytes)

  /** Whether a table that holds `own` bytes has to make room before it takes `more`. */
  def mustMakeRoom(own: Long, more: Long): Boolean = own + more > PageMemory.Floor && taken.get + more > limit &&
    own + more > share
}

object PageMemory {

  /** What a table may always hold, so that a thousand stores in one JVM still work: four pages. */
  val Floor: Long = 4L * Page.Size
}
