package io.snapline.state.rocksdb

import io.snapline.state.timeindex.IndexMemory

/** The prefixes that have keys but no list of them in `PrefixKeys`: each other prefix without a list has no key.
  *
  * A walk tells it of rows that a snapshot or a changelog left. Until the walk has ended, any prefix may have keys. The
  * walk pays with the scans that it saves: some rows for each scan that found nothing. One thread, that of the backend.
  *
  * @param memory
  *   memory for the filter
  * @param expected
  *   so many prefixes may come
  */
private[rocksdb] final class UnlistedPrefixes(memory: IndexMemory, expected: => Long) extends AutoCloseable {

  /** Null: none is in it. */
  private var filter: KeyFilter = _

  /** Whether each prefix with keys is in the filter, or has a list. */
  private var known = false

  /** There is no memory for those that the walk found. */
  private var over = false
  private var begun = false
  private var misses = 0L

  def bytes: Long = if (filter == null) 0 else filter.bytes

  /** False: it has no key, if it has no list. */
  def mayHave(hash: Int): Boolean = !known || (filter != null && filter.mayHave(hash))

  /** No prefix has a key. */
  def none(): Unit = {
    close()
    known = true
    over = false
  }

  /** Any prefix may have a key, until a new walk has ended. */
  def again(): Unit = {
    close()
    known = false
    over = false
    begun = false
    misses = 0
  }

  /** A prefix with keys has no list, or will have none. */
  def add(hash: Int): Unit = if (!over) {
    if (filter == null) filter = new KeyFilter(memory, expected)
    if (!filter.add(hash)) {
      // Prefixes that have lost their keys since take room, too: those that are left may do with less.
      val walked = known
      again()
      over = !walked
    }
  }

  /** A scan has found no row. */
  def missed(): Unit = misses += 1

  /** A batch begins: so many rows are due for the walk, until it has ended. */
  def due(): Long = {
    val rows = if (known || over) 0 else math.min(misses * KeysBelow.RowsPerMiss, KeysBelow.MostRows)
    misses = 0
    rows
  }

  /** Whether the walk is to begin from the first row. RocksDB must have all changes then. */
  def begins(): Boolean = !begun && {
    begun = true
    true
  }

  /** There is memory for more of the walk. */
  def goesOn: Boolean = !over

  /** The walk has passed all rows. */
  def walked(): Unit = known = true

  override def close(): Unit = {
    if (filter != null) filter.close()
    filter = null
  }
}
