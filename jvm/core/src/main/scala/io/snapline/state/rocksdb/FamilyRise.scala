package io.snapline.state.rocksdb

import io.snapline.state.rowtable.{Entry, Page, RowIndex, RowTable}

/** Brings the rows that a snapshot left in RocksDB up into the row table, some between two batches. Once the table has
  * each row of the family, a key that it does not find is not looked for below any more.
  *
  * It pays with the looks that it saves: some rows for each that found nothing. It gives up when memory does not do for
  * all rows, or one of them went. One thread, that of the backend.
  */
private[rocksdb] final class FamilyRise(backend: RocksDbBackend, family: RocksDbFamily) {
  import FamilyRise._

  private val id = family.descriptor.id
  private var misses = 0L

  /** Rows below this key are in the table, or gone. Null: it has not begun. */
  private var from: Array[Byte] = _
  private var rows = 0L
  private var bytes = 0L
  private var over = false

  /** A key was looked for in RocksDB, and is not there. */
  def missed(): Unit = misses += 1

  /** RocksDB got rows that the table may not have: it begins anew. */
  def again(): Unit = {
    from = null
    rows = 0
    bytes = 0
  }

  /** A row of the family is in RocksDB alone again: there is no memory for all. */
  def giveUp(): Unit = over = true

  /** Between two batches. Whether the table has each row now. */
  def step(): Boolean = {
    val due = math.min(misses * RowsPerMiss, MostRows)
    val whole = !over && due > 0 && fits && run(due)
    misses = 0
    whole
  }

  /** Each step looks anew: no iterator keeps old files of RocksDB from being removed meanwhile. */
  private def run(due: Long): Boolean = {
    val cursor = backend.scanBelow(family, from, null)
    try {
      var left = due
      var more = cursor.next()
      while (more && left > 0 && !over) {
        val key = cursor.key
        bring(key, cursor.value)
        from = java.util.Arrays.copyOf(key, key.length + 1)
        left -= 1
        more = cursor.next()
      }
      !more && !over
    } finally cursor.close()
  }

  private def bring(key: Array[Byte], value: Array[Byte]): Unit = {
    val size = Entry.size(id, key.length, value.length)
    rows += 1
    bytes += size
    if (size > RowTable.LargestKept || !backend.table.hasRoom(Page.Size)) giveUp()
    else {
      val hash = RowIndex.hash(id, key, 0, key.length)
      // A row that was changed since is here, and so is the mark of one that is gone.
      if (backend.table.find(hash, id, key, 0, key.length) < 0) {
        backend.table.remember(hash, id, key, 0, key.length, value)
      }
    }
  }

  /** By the rows so far. */
  private def fits: Boolean = {
    val each = if (rows == 0) 0 else bytes / rows
    val fits = backend.table.hasRoom(math.max(0, family.keyCount - rows) * (each + IndexBytes))
    if (!fits) giveUp()
    fits
  }
}

private[rocksdb] object FamilyRise {

  /** A look that finds nothing takes a microsecond or two, and a row of a walk half of one. */
  private val RowsPerMiss = 4L

  /** Some fifty milliseconds, for a batch that has to wait for them. */
  private val MostRows = 100000L

  /** The index takes so many for a row: it doubles when it is full. */
  private val IndexBytes = 16L
}
