package io.snapline.state.heap

import java.io.{BufferedOutputStream, File, FileOutputStream}
import java.nio.{ByteBuffer, ByteOrder}

import net.jpountz.lz4.LZ4Factory

import io.snapline.state.rowtable.{Entry, Op}

/** Writes a file of rows (docs/FORMAT.md section 4) on the local disk. Owns the stream; whoever made it deletes a file
  * that was not finished.
  */
private[heap] final class RowsFileWriter(file: File, compress: Boolean) extends AutoCloseable {
  private val output = new BufferedOutputStream(new FileOutputStream(file), 1 << 16)
  private val compressor = if (compress) LZ4Factory.fastestInstance().fastCompressor() else null
  private var block = new Array[Byte](RowsFile.BlockBytes)
  private var scratch = new Array[Byte](0)
  private var used = 0
  private var entries = 0L

  output.write(RowsFile.Magic.getBytes("US-ASCII"))
  output.write(Array[Byte](RowsFile.FormatNumber.toByte, 0, if (compress) 1 else 0, 0))

  def put(family: Int, row: Array[Byte]): Unit =
    add(Op.Put, family, row, Row.keyLength(row), row, Row.valueAt(row), Row.valueLength(row), Row.KEY)

  def put(family: Int, key: Array[Byte], value: Array[Byte]): Unit =
    add(Op.Put, family, key, key.length, value, 0, value.length, 0)

  def delete(family: Int, key: Array[Byte]): Unit = add(Op.Delete, family, key, key.length, null, 0, 0, 0)

  private def add(
      op: Int,
      family: Int,
      key: Array[Byte],
      keyLength: Int,
      value: Array[Byte],
      valueOffset: Int,
      valueLength: Int,
      keyOffset: Int
  ): Unit = {
    val size = Entry.size(family, keyLength, valueLength)
    if (size > block.length - used) {
      writeBlock()
      if (size > block.length) block = new Array[Byte](size)
    }
    used = Entry.write(block, used, op, family, key, keyOffset, keyLength, value, valueOffset, valueLength)
    entries += 1
  }

  private def writeBlock(): Unit = if (used > 0) {
    var stored = block
    var length = used
    if (compress) {
      val most = compressor.maxCompressedLength(used)
      if (scratch.length < most) scratch = new Array[Byte](most)
      val compressed = compressor.compress(block, 0, used, scratch, 0, most)
      if (compressed < used) {
        stored = scratch
        length = compressed
      }
    }
    output.write(buffer(8).putInt(length).putInt(used).array)
    output.write(stored, 0, length)
    used = 0
  }

  def finish(): Unit = {
    writeBlock()
    output.write(buffer(16).putLong(0).putLong(entries).array)
    output.close()
  }

  override def close(): Unit = output.close()

  private def buffer(size: Int): ByteBuffer = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN)
}
