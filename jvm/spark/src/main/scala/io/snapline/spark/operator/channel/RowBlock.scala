package io.snapline.spark.operator.channel

import java.nio.ByteBuffer
import java.util.Arrays

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

import io.snapline.error.CheckpointDamaged

/** Raw rows one after the other, each behind its length (int32, big endian). */
private[channel] object RowBlock {

  /** A block is closed when it has this many bytes. */
  val FullBytes: Int = 256 << 10

  /** Gathers rows. */
  final class Writer {
    private var bytes = new Array[Byte](1 << 14)
    private var length = 0
    var rows = 0

    def isFull: Boolean = length >= FullBytes

    def add(row: UnsafeRow): Unit = {
      val size = row.getSizeInBytes
      if (bytes.length - length < 4 + size) bytes = Arrays.copyOf(bytes, math.max(bytes.length * 2, length + 4 + size))
      ByteBuffer.wrap(bytes).putInt(length, size): Unit
      Platform.copyMemory(
        row.getBaseObject,
        row.getBaseOffset,
        bytes,
        Platform.BYTE_ARRAY_OFFSET.toLong + length + 4,
        size.toLong
      )
      length += 4 + size
      rows += 1
    }

    /** The block, and an empty writer again. */
    def take(): Array[Byte] = {
      val block = Arrays.copyOf(bytes, length)
      length = 0
      rows = 0
      block
    }
  }

  /** The rows of a block from the one numbered `skip` on. Each is good until the next is taken. */
  def rows(block: Array[Byte], fields: Int, expected: Int, skip: Int): Iterator[UnsafeRow] = {
    val row = new UnsafeRow(fields)
    val in = ByteBuffer.wrap(block)
    var at = 0
    def step(): Int = {
      val size = if (block.length - at < 4) -1 else in.getInt(at)
      if (size < 0 || size > block.length - at - 4) {
        throw new CheckpointDamaged(
          s"A block of channel state of $expected rows ends at byte ${block.length} within a row.",
          "go back to an older checkpoint (restore=), and report it with the log of the executor."
        )
      }
      val begin = at + 4
      at = begin + size
      row.pointTo(block, Platform.BYTE_ARRAY_OFFSET.toLong + begin, size)
      begin
    }
    (0 until skip).foreach(_ => step())
    Iterator.range(skip, expected).map { _ =>
      step(): Unit
      row
    }
  }
}
