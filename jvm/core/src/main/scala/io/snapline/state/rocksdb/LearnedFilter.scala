package io.snapline.state.rocksdb

import io.snapline.state.timeindex.IndexMemory

/** A filter of hashes that is complete once a walk over the rows that were there before it has ended. Its owner steps
  * through these rows, and adds the hashes that come meanwhile.
  *
  * The walk pays with the looks at RocksDB that the filter saves: some rows for each look that found nothing. One
  * thread, that of the backend.
  *
  * @param memory
  *   memory for the filter
  * @param expected
  *   so many hashes may come
  */
private[rocksdb] final class LearnedFilter(memory: IndexMemory, expected: => Long) extends AutoCloseable {
  import LearnedFilter._

  /** Null: none is in it. */
  private var filter: KeyFilter = _

  /** Whether nothing is missing. */
  private var known = false

  /** There is no memory for those that the walk found. */
  private var over = false
  private var begun = false
  private var misses = 0L

  def bytes: Long = if (filter == null) 0 else filter.bytes

  /** Whether it is known that no hash was added. */
  def isNone: Boolean = known && filter == null

  def mayHave(hash: Int): Boolean = !known || (filter != null && filter.mayHave(hash))

  /** There are no rows yet: nothing is missing. */
  def none(): Unit = {
    close()
    known = true
    over = false
  }

  /** Anything may be missing, until a new walk has ended. */
  def again(): Unit = {
    close()
    known = false
    over = false
    begun = false
    misses = 0
  }

  /** Rows came of which it was not told: a walk that has not ended begins anew. */
  def unseen(): Unit = if (!known) again()

  def add(hash: Int): Unit = if (!over) {
    if (filter == null) filter = new KeyFilter(memory, expected)
    if (!filter.add(hash)) {
      // Hashes that nobody needs any more take room, too: those that are left may do with less.
      val walked = known
      again()
      over = !walked
    }
  }

  /** A look at RocksDB has found nothing. */
  def missed(): Unit = misses += 1

  /** A batch begins: the walk goes on by as many rows as were paid for, until it has ended.
    *
    * @param begin
    *   makes the walk begin from the first row
    * @param walk
    *   passes so many rows, or fewer if not `goesOn`; whether it has passed all
    */
  def step(begin: => Unit)(walk: Long => Boolean): Unit = {
    val due = if (known || over) 0 else math.min(misses * RowsPerMiss, MostRows)
    misses = 0
    if (due > 0) {
      if (!begun) {
        begun = true
        begin
      }
      if (walk(due)) known = true
    }
  }

  /** There is memory for more of the walk. */
  def goesOn: Boolean = !over

  override def close(): Unit = {
    if (filter != null) filter.close()
    filter = null
  }
}

private object LearnedFilter {

  /** A look that finds nothing takes a microsecond or two, and a row of a walk half of one. */
  private val RowsPerMiss = 4L

  /** Less than half a second, for a batch that has to wait for them. */
  private val MostRows = 1000000L
}
