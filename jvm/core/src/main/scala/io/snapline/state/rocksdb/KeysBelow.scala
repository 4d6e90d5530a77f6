package io.snapline.state.rocksdb

import io.snapline.state.RowCursor
import io.snapline.state.rowtable.{Entry, Page, RowIndex, RowTable}
import io.snapline.state.timeindex.IndexMemory

/** The keys of a family that may be in RocksDB alone: no other key that the row table lacks is looked for there.
  *
  * A key whose row leaves the table is remembered in a filter. Where a snapshot left rows in RocksDB, a walk over them
  * comes first, some between two batches: it brings rows up into the table if memory does for all of them, and else
  * only remembers their keys. One thread, that of the backend.
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
  private val keys = new LearnedFilter(memory, 2 * family.keyCount)
  if (!restored) keys.none()

  private val walk = new RowWalk(backend, family)
  private var rows = 0L
  private var rowBytes = 0L

  /** Whether the walk brings rows up. */
  private var brings = true

  /** `droppedPages` of the table when the walk looked last. */
  private var dropped = 0L

  /** Memory it takes. */
  def bytes: Long = keys.bytes

  /** Whether the table has each row that there is. */
  def isNone: Boolean = keys.isNone

  /** False: a key that the table lacks is nowhere. */
  def mayHave(hash: Int): Boolean = keys.mayHave(hash)

  /** A key was looked for in RocksDB, and is not there. */
  def missed(): Unit = keys.missed()

  /** A row is in RocksDB alone, from now on. */
  def lost(hash: Int): Unit = keys.add(hash)

  /** RocksDB got rows that the table may not have. */
  def again(): Unit = keys.unseen()

  /** A batch begins. */
  def step(): Unit = keys.step(begin()) { due =>
    brings = brings && fits
    dropped = backend.table.droppedPages
    walk.step(due)(pass)
  }

  private def begin(): Unit = {
    walk.again()
    rows = 0
    rowBytes = 0
    brings = true
  }

  /** Whether the row is passed, and there is memory for more. */
  private def pass(row: RowCursor, key: Array[Byte]): Boolean =
    // A row that was changed since the walk looked is in the table, and so is the mark of one that is gone: until their
    // page goes, which may be as soon as another thread has applied its changes. The next step looks anew.
    if (brings && backend.table.droppedPages != dropped) false
    else {
      val hash = RowIndex.hash(id, key, 0, key.length)
      if (backend.table.find(hash, id, key, 0, key.length) < 0 && !(brings && bring(hash, key, row.value)))
        keys.add(hash)
      keys.goesOn
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

  override def close(): Unit = keys.close()
}

private object KeysBelow {

  /** The index takes so many for a row: it doubles when it is full. */
  private val IndexBytes = 16L
}
