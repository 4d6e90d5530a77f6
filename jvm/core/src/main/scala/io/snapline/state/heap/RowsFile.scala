package io.snapline.state.heap

import java.io.{BufferedInputStream, DataInputStream, EOFException, File, FileInputStream}
import java.nio.{ByteBuffer, ByteOrder}

import net.jpountz.lz4.{LZ4Exception, LZ4Factory}

import io.snapline.error.{CheckpointDamaged, UnsupportedVersion}
import io.snapline.state.rowtable.{Entry, Op}

/** Reads files of rows (docs/FORMAT.md section 4) and believes nothing, though the handle's checksum has been compared.
  */
private[heap] object RowsFile {
  val Magic = "SNAPROWS"
  val FormatNumber = 1
  val BlockBytes: Int = 1 << 18
  private val HeaderBytes = 12
  private val MaxRatio = 256L

  /** Calls `each(bytes, entry)` for every entry, in order. */
  def read(file: File)(each: (Array[Byte], Entry) => Unit): Unit = {
    val input = new DataInputStream(new BufferedInputStream(new FileInputStream(file), 1 << 16))
    try {
      val compressed = header(file, input)
      val entry = new Entry
      var entries = 0L
      var block = nextBlock(file, input, compressed)
      while (block != null) {
        var at = 0
        while (at < block.length) {
          entry.readChecked(block, at, block.length)
          if (entry.op != Op.Put && entry.op != Op.Delete) throw damaged(file, s"operation ${entry.op} is none of rows")
          each(block, entry)
          entries += 1
          at = entry.end
        }
        block = nextBlock(file, input, compressed)
      }
      if (fields(input, 8).getLong() != entries) throw damaged(file, "it does not name as many entries as it has")
      if (input.read() >= 0) throw damaged(file, "something stands behind its end")
    } catch { case _: EOFException => throw damaged(file, "it was cut short") }
    finally input.close()
  }

  private def header(file: File, input: DataInputStream): Boolean = {
    val header = fields(input, HeaderBytes)
    val magic = new Array[Byte](8)
    header.get(magic)
    if (new String(magic, "ISO-8859-1") != Magic) throw damaged(file, s"it does not begin with $Magic")
    val format = header.getShort() & 0xffff
    if (format != FormatNumber) {
      throw new UnsupportedVersion(
        s"${file.getName} of the state has format $format; this version of Snapline reads $FormatNumber.",
        "use the version of Snapline that wrote it, or a later one."
      )
    }
    val codec = header.get()
    if (codec < 0 || codec > 1) throw damaged(file, s"codec $codec is unknown")
    codec == 1
  }

  /** Null at the end. */
  private def nextBlock(file: File, input: DataInputStream, compressed: Boolean): Array[Byte] = {
    val lengths = fields(input, 8)
    val (stored, raw) = (lengths.getInt(), lengths.getInt())
    if (stored == 0 && raw == 0) null
    else {
      if (stored <= 0 || raw < stored || raw > stored * MaxRatio || stored > file.length()) {
        throw damaged(file, "a block has impossible lengths")
      }
      val bytes = new Array[Byte](stored)
      input.readFully(bytes)
      if (raw == stored) bytes
      else {
        if (!compressed) throw damaged(file, "a block is compressed in a file that has no codec")
        val whole = new Array[Byte](raw)
        val got =
          try LZ4Factory.fastestInstance().safeDecompressor().decompress(bytes, 0, stored, whole, 0, raw)
          catch { case _: LZ4Exception => -1 }
        if (got != raw) throw damaged(file, "a block does not decompress")
        whole
      }
    }
  }

  private def fields(input: DataInputStream, size: Int): ByteBuffer = {
    val bytes = new Array[Byte](size)
    input.readFully(bytes)
    ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
  }

  def damaged(file: File, what: String): CheckpointDamaged = new CheckpointDamaged(
    s"${file.getName} of the state: $what.",
    "run `snapline checkpoints verify` on the checkpoint: it names the newest version that loads; restart the query from that one."
  )
}
