package io.snapline.state.rocksdb

import java.util.Arrays

import io.snapline.state.RowCursor

/** A walk over the rows that RocksDB has of a family, some of them at a time, in order of their keys.
  *
  * Each step looks anew: no iterator keeps old files of RocksDB from being removed meanwhile. A row that comes behind
  * the walk is not passed.
  */
private[rocksdb] final class RowWalk(backend: RocksDbBackend, family: RocksDbFamily) {

  /** The rows below this key were passed. Null: none was. */
  private var from: Array[Byte] = _

  def again(): Unit = from = null

  /** Passes so many rows, or those before the one for which `each` is false; whether it has come to the end. */
  def step(rows: Long)(each: (RowCursor, Array[Byte]) => Boolean): Boolean = {
    val cursor = backend.scanBelow(family, from, null)
    try {
      var left = rows
      var more = cursor.next()
      var last: Array[Byte] = null
      var goesOn = true
      while (more && left > 0 && goesOn) {
        val key = cursor.key
        goesOn = each(cursor, key)
        if (goesOn) {
          last = key
          left -= 1
          more = cursor.next()
        }
      }
      if (last != null) from = Arrays.copyOf(last, last.length + 1)
      !more
    } finally cursor.close()
  }
}
