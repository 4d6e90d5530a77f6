package io.snapline.spark.savepoint

import java.nio.ByteBuffer

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** An entry of a state on its way to the task that stores it: number of the state, then key and values, each with its
  * length.
  */
private[savepoint] object EntryBytes {

  def pack(family: Int, key: UnsafeRow, values: Seq[UnsafeRow]): Array[Byte] = {
    val rows = key +: values
    val bytes = ByteBuffer.allocate(8 + rows.map(4 + _.getSizeInBytes).sum)
    bytes.putInt(family).putInt(values.size)
    rows.foreach { row =>
      val size = row.getSizeInBytes
      bytes.putInt(size)
      row.writeToMemory(bytes.array, Platform.BYTE_ARRAY_OFFSET + bytes.position())
      bytes.position(bytes.position() + size)
    }
    bytes.array
  }

  /** @param fields
    *   by number of the state, how many columns its key and its value have
    */
  def unpack(packed: Array[Byte], fields: IndexedSeq[(Int, Int)]): (Int, UnsafeRow, Array[UnsafeRow]) = {
    val bytes = ByteBuffer.wrap(packed)
    val family = bytes.getInt()
    val count = bytes.getInt()
    val (keyFields, valueFields) = fields(family)
    def row(columns: Int): UnsafeRow = {
      val size = bytes.getInt()
      val read = new UnsafeRow(columns)
      // Rows are words of eight bytes, and begin anywhere here: a copy puts them where a word may begin.
      val copy = new Array[Byte](size)
      bytes.get(copy)
      read.pointTo(copy, size)
      read
    }
    val key = row(keyFields)
    (family, key, Array.fill(count)(row(valueFields)))
  }
}
