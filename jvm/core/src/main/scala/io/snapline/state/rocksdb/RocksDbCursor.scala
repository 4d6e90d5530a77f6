package io.snapline.state.rocksdb

import org.rocksdb.{ColumnFamilyHandle, ReadOptions, RocksDBException, RocksIterator, Slice}

import io.snapline.state.RowCursor

/** A walk over one RocksDB column family between two keys. Owns its iterator, read options and bound.
  *
  * @param first
  *   told once, where it begins: the key of the first row, or null if there is none
  * @param closed
  *   told once, when the native objects are gone
  */
private[rocksdb] final class RocksDbCursor(
    instance: RocksDbInstance,
    handle: ColumnFamilyHandle,
    from: Array[Byte],
    until: Array[Byte],
    first: Array[Byte] => Unit,
    closed: RocksDbCursor => Unit
) extends RowCursor {
  private val bound = if (until == null) null else new Slice(until)
  private val options = new ReadOptions().setTotalOrderSeek(true)
  if (bound != null) options.setIterateUpperBound(bound)
  private val iterator: RocksIterator = instance.db.newIterator(handle, options)
  private var begun = false
  private var open = true

  override def next(): Boolean = {
    if (!open) return false
    val begins = !begun
    if (begun) iterator.next()
    else {
      begun = true
      if (from == null) iterator.seekToFirst() else iterator.seek(from)
    }
    if (iterator.isValid) {
      if (begins) first(iterator.key())
      true
    } else {
      // Not valid means the end, or an error that must not pass for one.
      try iterator.status()
      catch { case e: RocksDBException => throw instance.failed(e) }
      finally close()
      if (begins) first(null)
      false
    }
  }

  override def key: Array[Byte] = iterator.key()

  override def value: Array[Byte] = iterator.value()

  override def close(): Unit = if (open) {
    open = false
    iterator.close()
    options.close()
    if (bound != null) bound.close()
    closed(this)
  }
}

private[rocksdb] object EmptyCursor extends RowCursor {
  override def next(): Boolean = false
  override def key: Array[Byte] = throw new NoSuchElementException
  override def value: Array[Byte] = throw new NoSuchElementException
  override def close(): Unit = ()
}
