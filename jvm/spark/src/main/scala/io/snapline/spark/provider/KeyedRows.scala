package io.snapline.spark.provider

import io.snapline.state.{ColumnFamily, RowCursor}

/** The rows of these keys, as far as they are there: read ahead, some at once.
  *
  * @param ahead
  *   told the keys whose rows come next
  */
private[provider] final class KeyedRows(
    rows: ColumnFamily,
    keys: Array[Array[Byte]],
    ahead: Array[Array[Byte]] => Unit = _ => ()
) extends RowCursor {
  private var read = 0
  private var batch = new Array[Array[Byte]](0)
  private var values = new Array[Array[Byte]](0)
  private var at = -1

  override def next(): Boolean = {
    at += 1
    while ((at == batch.length || values(at) == null) && (at < batch.length || read < keys.length)) {
      if (at < batch.length) at += 1
      else {
        batch = java.util.Arrays.copyOfRange(keys, read, math.min(keys.length, read + KeyedRows.Together))
        read += batch.length
        values = rows.multiGet(batch)
        ahead(batch)
        at = 0
      }
    }
    at < batch.length
  }

  override def key: Array[Byte] = batch(at)

  override def value: Array[Byte] = values(at)

  override def close(): Unit = ()
}

private object KeyedRows {
  val Together = 512
}
