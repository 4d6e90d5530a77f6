package io.snapline.snapshot.format

import net.jpountz.lz4.LZ4Factory

import io.snapline.error.StorageFailure
import io.snapline.storage.StoredOutput

/** Writes one framed file. Owns the output until `finish` or `abandon`.
  *
  * @param compress
  *   whether blocks are compressed with LZ4
  */
private[snapline] final class FrameWriter(
    output: StoredOutput,
    magic: String,
    compress: Boolean,
    format: Int = Frame.FormatNumber
) {
  private var position = 0L
  private var blocks = 0
  private val compressor = if (compress) LZ4Factory.fastestInstance().fastCompressor() else null
  private var scratch = new Array[Byte](0)

  try header()
  catch { case e: Throwable => output.abandon(); throw e }

  private def header(): Unit = {
    val header = Frame.buffer(Frame.HeaderBytes)
    header.put(magic.getBytes("US-ASCII")).putShort(format.toShort)
    header.put((if (compress) Frame.CodecLz4 else Frame.CodecNone).toByte).put(0.toByte)
    header.putInt(Frame.crc(header.array, 0, 12))
    write(header.array, 0, Frame.HeaderBytes)
  }

  def bytesWritten: Long = position

  def block(bytes: Array[Byte], offset: Int, length: Int): Unit = {
    // No reader would take it back.
    if (length > Frame.MaxRawBytes) {
      throw new StorageFailure(
        s"A change has $length bytes; a changelog holds up to ${Frame.MaxRawBytes} in one.",
        "keep less in one value."
      )
    }
    var stored = bytes
    var storedOffset = offset
    var storedLength = length
    if (compress && length > 0) {
      val most = compressor.maxCompressedLength(length)
      if (scratch.length < most) scratch = new Array[Byte](most)
      val compressed = compressor.compress(bytes, offset, length, scratch, 0, most)
      if (compressed < length) {
        stored = scratch
        storedOffset = 0
        storedLength = compressed
      }
    }
    val header = Frame.buffer(Frame.BlockHeaderBytes)
    header.putInt(storedLength).putInt(length)
    header.putInt(Frame.crc(header.array, 8, stored, storedOffset, storedLength))
    write(header.array, 0, Frame.BlockHeaderBytes)
    write(stored, storedOffset, storedLength)
    blocks += 1
  }

  /** The file is whole and durable when this returns. */
  def finish(meta: Array[Byte]): Unit = {
    val metaOffset = position
    val trailer = Frame.buffer(Frame.TrailerBytes)
    trailer.putLong(metaOffset).putInt(meta.length).putInt(Frame.crc(meta, 0, meta.length)).putInt(blocks)
    trailer.putInt(Frame.crc(trailer.array, 0, 20)).put(Frame.EndMagic.getBytes("US-ASCII"))
    write(meta, 0, meta.length)
    write(trailer.array, 0, Frame.TrailerBytes)
    output.close()
  }

  def abandon(): Unit = output.abandon()

  private def write(bytes: Array[Byte], offset: Int, length: Int): Unit = {
    output.write(bytes, offset, length)
    position += length
  }
}
