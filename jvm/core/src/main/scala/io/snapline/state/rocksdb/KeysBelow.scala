package io.snapline.state.rocksdb

import io.snapline.state.RowCursor
import io.snapline.state.rowtable.{Entry, Page, RowIndex, RowTable}
import io.snapline.state.timeindex.IndexMemory

/** The keys of a family that may be in RocksDB alone: no other key that the row table lacks is looked for there.
  *
  * A key whose row leaves the table is remembered in a filter. Where a snapshot left rows in RocksDB, a walk over them
  * comes first, some between two batches: it brings rows up into the table if memory does for all of them, and else
  * only remembers their keys. The walk pays with the looks that it saves: some rows for each that found nothing. One
  * thread, that of the backend.
  *
  * @param restored
  *   whether RocksDB may have rows from the beginning
  */
private[rocksdb] final class KeysBelow(
    backend: RocksDbBackend,
    family: RocksDbFamily,
    restored: Boolean,
    memory: IndexMemory
) extends AutoCloseable {
  import KeysBelow._

  private val id = family.descriptor.id

  /** Whether each key below is in the table, or in the filter. */
  private var known = !restored

  /** Null: it has no key. */
  private var filter: KeyFilter = _
  private var misses = 0L

  private val walk = new RowWalk(backend, family)
  private var rows = 0L
  private var rowBytes = 0L

  /** Whether the walk brings rows up. */
  private var brings = true

  /** There is no memory for the keys. */
  private var over = false

  /** Memory it takes. */
  def bytes: Long = if (filter == null) 0 else filter.bytes

  /** Whether the table has each row that there is. */
  def isNone: Boolean = known && filter == null

  /** False: a key that the table lacks is nowhere. */
  def mayHave(hash: Int): Boolean = !known || (filter != null && filter.mayHave(hash))

  /** A key was looked for in RocksDB, and is not there. */
  def missed(): Unit = misses += 1

  /** A row is in RocksDB alone, from now on. */
  def lost(hash: Int): Unit = if (!over && !remember(hash)) {
    // Keys that have gone since take room, too: those that are left may do with less.
    if (known) begin() else giveUp()
  }

  /** RocksDB got rows that the table may not have. */
  def again(): Unit = if (!known) begin()

  private def begin(): Unit = {
    close()
    known = false
    over = false
    walk.again()
    rows = 0
    rowBytes = 0
    brings = true
  }

  private def giveUp(): Unit = {
    close()
    over = true
  }

  private def remember(hash: Int): Boolean = {
    if (filter == null) filter = new KeyFilter(memory, 2 * family.keyCount)
    filter.add(hash)
  }

  /** A batch begins. */
  def step(): Unit = {
    val due = math.min(misses * RowsPerMiss, MostRows)
    misses = 0
    if (!known && !over && due > 0) {
      brings = brings && fits
      known = walk.step(due)(pass)
    }
  }

  /** Whether there is memory for more. */
  private def pass(row: RowCursor, key: Array[Byte]): Boolean = {
    val hash = RowIndex.hash(id, key, 0, key.length)
    // A row that was changed since is in the table, and so is the mark of one that is gone.
    if (backend.table.find(hash, id, key, 0, key.length) < 0) {
      if (!(brings && bring(hash, key, row.value)) && !remember(hash)) giveUp()
    }
    !over
  }

  private def bring(hash: Int, key: Array[Byte], value: Array[Byte]): Boolean = {
    val size = Entry.size(id, key.length, value.length)
    rows += 1
    rowBytes += size
    brings = backend.table.hasRoom(Page.Size)
    val kept = brings && size <= RowTable.LargestKept
    if (kept) backend.table.remember(hash, id, key, 0, key.length, value)
    kept
  }

  /** Whether memory does for all rows, by those so far. */
  private def fits: Boolean = {
    val each = if (rows == 0) 0 else rowBytes / rows
    backend.table.hasRoom(math.max(0, family.keyCount - rows) * (each + IndexBytes))
  }

  override def close(): Unit = {
    if (filter != null) filter.close()
    filter = null
  }
}

private[rocksdb] object KeysBelow {

  /** A look that finds nothing takes a microsecond or two, and a row of a walk half of one. */
  val RowsPerMiss = 4L

  /** Less than half a second, for a batch that has to wait for them. */
  val MostRows = 1000000L

  /** The index takes so many for a row: it doubles when it is full. */
  private val IndexBytes = 16L
}
