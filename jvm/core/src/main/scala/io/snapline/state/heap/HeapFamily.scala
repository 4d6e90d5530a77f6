package io.snapline.state.heap

import java.io.File
import java.util.{ArrayList, Collections, WeakHashMap}

import io.snapline.state._
import io.snapline.state.rowtable.Op

/** One column family: rows by key in a map, and in order once somebody has scanned. Changes are logged as they are
  * made.
  */
private[heap] final class HeapFamily(
    backend: HeapBackend,
    override val descriptor: FamilyDescriptor,
    val rows: StateMap,
    account: HeapAccount
) extends ColumnFamily {
  private val id = descriptor.id
  private var order: OrderedRows = _

  /** The open cursors. One that nobody closes is dropped by the garbage collector. */
  private val cursors = Collections.newSetFromMap(new WeakHashMap[HeapCursor, java.lang.Boolean])
  private var watched = false

  /** Whether rows and nodes may be changed though somebody has walked them. */
  private def inPlace: Boolean = !watched || {
    watched = !cursors.isEmpty
    !watched
  }

  override def keyCount: Long = rows.size

  private var putsSeen = 0L

  override def putCount: Long = putsSeen

  override protected def newIndexFile(): File = backend.newIndexFile()

  override def get(key: Array[Byte], offset: Int, length: Int): Array[Byte] = {
    backend.gets += 1
    val row = rows.get(key, offset, length)
    if (row == null) null else Row.copyValue(row)
  }

  override def multiGet(keys: Array[Array[Byte]]): Array[Array[Byte]] = {
    val values = new Array[Array[Byte]](keys.length)
    var i = 0
    while (i < keys.length) {
      values(i) = get(keys(i), 0, keys(i).length)
      i += 1
    }
    values
  }

  override def contains(key: Array[Byte], offset: Int, length: Int): Boolean = rows.get(key, offset, length) != null

  override def put(key: Array[Byte], ko: Int, kl: Int, value: Array[Byte], vo: Int, vl: Int): Unit = {
    backend.puts += 1
    applyPut(key, ko, kl, value, vo, vl)
    backend.changelog.add(Op.Put, id, key, ko, kl, value, vo, vl)
  }

  override def merge(key: Array[Byte], ko: Int, kl: Int, value: Array[Byte], vo: Int, vl: Int): Unit = {
    backend.puts += 1
    applyMerge(key, ko, kl, value, vo, vl)
    // Nothing to append to: the piece is the value.
    if (rows.before == null) backend.changelog.addFirst(id, key, ko, kl, value, vo, vl)
    else backend.changelog.add(Op.Merge, id, key, ko, kl, value, vo, vl)
  }

  override def delete(key: Array[Byte], offset: Int, length: Int): Boolean = {
    backend.puts += 1
    val was = applyDelete(key, offset, length)
    if (was) backend.changelog.add(Op.Delete, id, key, offset, length, null, 0, 0)
    else backend.changelog.addNothingDeleted(id, key, offset, length)
    was
  }

  override def deleteRange(from: Array[Byte], until: Array[Byte]): Unit = {
    val keys = keysIn(from, until)
    if (!keys.isEmpty) {
      // Before the first is gone: if a later one fails, this state is not the last version's any more.
      backend.puts += 1
      deleteAll(keys)
      backend.changelog.add(Op.DeleteRange, id, from, 0, from.length, until, 0, until.length)
    }
  }

  // ---- the same without a log: changes that come from one

  def applyPut(key: Array[Byte], ko: Int, kl: Int, value: Array[Byte], vo: Int, vl: Int): Unit = {
    putsSeen += 1
    rows.put(key, ko, kl, value, vo, vl, inPlace)
    follow()
  }

  def applyMerge(key: Array[Byte], ko: Int, kl: Int, value: Array[Byte], vo: Int, vl: Int): Unit = {
    putsSeen += 1
    rows.append(key, ko, kl, value, vo, vl, inPlace)
    follow()
  }

  private def follow(): Unit = if (order != null) {
    if (rows.before == null) order.add(rows.row)
    else if (rows.before ne rows.row) order.replace(rows.row)
  }

  def applyDelete(key: Array[Byte], offset: Int, length: Int): Boolean = {
    val gone = rows.remove(key, offset, length)
    if (gone != null && order != null) order.remove(gone)
    gone != null
  }

  def applyDeleteRange(from: Array[Byte], until: Array[Byte]): Unit = deleteAll(keysIn(from, until))

  private def keysIn(from: Array[Byte], until: Array[Byte]): ArrayList[Array[Byte]] = {
    val keys = new ArrayList[Array[Byte]]
    val cursor = rangeScan(from, until)
    try while (cursor.next()) keys.add(cursor.key): Unit
    finally cursor.close()
    keys
  }

  private def deleteAll(keys: ArrayList[Array[Byte]]): Unit =
    keys.forEach(key => applyDelete(key, 0, key.length): Unit)

  // ---- scans

  override def prefixScan(prefix: Array[Byte]): RowCursor = rangeScan(prefix, Ranges.afterPrefix(prefix))

  override def rangeScan(from: Array[Byte], until: Array[Byte]): RowCursor = {
    if (order == null) order = new OrderedRows(all(), account, () => !inPlace)
    val cursor = new HeapCursor(order.walk(from), until, cursors.remove(_): Unit)
    cursors.add(cursor)
    watched = true
    cursor
  }

  private def all(): Array[Array[Byte]] = {
    val found = new Array[Array[Byte]](rows.size)
    var i = 0
    rows.foreach { row =>
      found(i) = row
      i += 1
    }
    found
  }

  /** The family is removed. */
  def close(): Unit = {
    dropTimeIndex()
    rows.close()
    if (order != null) order.close()
  }
}

/** A walk over a family up to a key. Rows are not changed in place while it is open.
  *
  * @param closed
  *   told once
  */
private[heap] final class HeapCursor(
    private var walk: OrderedRows.Walk,
    until: Array[Byte],
    closed: HeapCursor => Unit
) extends RowCursor {
  private var row: Array[Byte] = _

  override def next(): Boolean =
    if (walk == null) false
    else {
      row = walk.next()
      val more = row != null && (until == null || Row.compare(row, until, 0, until.length) < 0)
      if (!more) close()
      more
    }

  override def key: Array[Byte] = Row.copyKey(current)

  override def value: Array[Byte] = Row.copyValue(current)

  private def current: Array[Byte] = {
    if (row == null) throw new NoSuchElementException("The cursor is on no row.")
    row
  }

  override def close(): Unit = if (walk != null) {
    walk = null
    row = null
    closed(this)
  }
}
