package io.snapline.snapshot.format

import net.jpountz.lz4.{LZ4Exception, LZ4Factory}

import io.snapline.error.{NotACheckpoint, UnsupportedVersion}
import io.snapline.storage.{CheckpointStorage, StoredInput}

/** Reads one framed file and believes nothing: see the order of checks in docs/FORMAT.md section 2. Owns the input.
  *
  * @param readAtOnce
  *   a file up to this length is read in one go
  */
private[snapline] final class FrameReader(
    storage: CheckpointStorage,
    name: String,
    magic: String,
    readAtOnce: Long = FrameReader.ReadAtOnce
) extends AutoCloseable {
  private def file = storage.path(name)
  private val input: StoredInput = storage.open(name)
  private var compressed = false
  private var metaOffset = 0L
  private var blocks = 0

  /** The file's bytes when it is small enough to be read at once. */
  private val whole: Array[Byte] =
    if (input.length > readAtOnce) null
    else readingOrClosing {
      val bytes = new Array[Byte](input.length.toInt)
      input.readFully(0, bytes, 0, bytes.length)
      bytes
    }

  val meta: Array[Byte] = readingOrClosing(check())

  def length: Long = input.length

  private def check(): Array[Byte] = {
    if (!FrameReader.hasRoom(input)) {
      throw Frame.damaged(file, s"${input.length} bytes are too few: it was never written to its end")
    }
    val trailer = read(input.length - Frame.TrailerBytes, Frame.TrailerBytes)
    val header = read(0, Frame.HeaderBytes)
    if (!FrameReader.isEnd(trailer)) {
      if (FrameReader.foreign(header)) {
        throw new NotACheckpoint(
          s"$file was written by Spark's own state store provider.",
          "keep using that provider for this checkpoint, or start the query with a new checkpoint folder."
        )
      }
      throw Frame.damaged(file, "the end is missing: it was cut short or overwritten")
    }
    val end = Frame.wrap(trailer, 0, Frame.TrailerBytes)
    if (Frame.crc(trailer, 0, 20) != end.getInt(20)) throw Frame.damaged(file, "the trailer's checksum does not fit")
    if (text(header, 0) != magic) throw Frame.damaged(file, s"it does not begin with $magic")
    val begin = Frame.wrap(header, 0, Frame.HeaderBytes)
    val format = begin.getShort(8) & 0xffff
    if (Frame.crc(header, 0, 12) != begin.getInt(12)) throw Frame.damaged(file, "the header's checksum does not fit")
    val newest = Frame.newestFormat(magic)
    if (format < Frame.FormatNumber || format > newest) {
      throw new UnsupportedVersion(
        s"$file has format $format; this version of Snapline reads ${(Frame.FormatNumber to newest).mkString(" and ")}.",
        "use the version of Snapline that wrote it, or a later one."
      )
    }
    header(10) match {
      case Frame.CodecNone => compressed = false
      case Frame.CodecLz4 => compressed = true
      case codec => throw Frame.damaged(file, s"codec $codec is unknown")
    }
    metaOffset = end.getLong(0)
    val metaLength = end.getInt(8)
    blocks = end.getInt(16)
    if (
      metaLength < 0 || metaOffset < Frame.HeaderBytes || metaOffset + metaLength + Frame.TrailerBytes != input.length
    ) {
      throw Frame.damaged(file, "the trailer's lengths do not add up to the file's")
    }
    val meta = read(metaOffset, metaLength)
    if (Frame.crc(meta, 0, metaLength) != end.getInt(12)) throw Frame.damaged(file, "the meta's checksum does not fit")
    meta
  }

  /** Calls `each(bytes, length)` for every block in order; the array is good until the call returns. */
  def foreachBlock(each: (Array[Byte], Int) => Unit): Unit = {
    var position = Frame.HeaderBytes.toLong
    var seen = 0
    val decompressor = LZ4Factory.fastestInstance().safeDecompressor()
    while (position < metaOffset) {
      if (metaOffset - position < Frame.BlockHeaderBytes) throw Frame.damaged(file, "a block's header is cut short")
      val header = read(position, Frame.BlockHeaderBytes)
      val fields = Frame.wrap(header, 0, Frame.BlockHeaderBytes)
      val storedLength = fields.getInt(0)
      val rawLength = fields.getInt(4)
      position += Frame.BlockHeaderBytes
      if (
        storedLength < 0 || storedLength > metaOffset - position || rawLength < storedLength ||
        rawLength > Frame.MaxRawBytes ||
        rawLength > storedLength * Frame.MaxRatio
      ) {
        throw Frame.damaged(file, s"block $seen has impossible lengths")
      }
      val stored = read(position, storedLength)
      if (Frame.crc(header, 8, stored, 0, storedLength) != fields.getInt(8)) {
        throw Frame.damaged(file, s"the checksum of block $seen does not fit")
      }
      if (rawLength == storedLength) each(stored, rawLength)
      else {
        if (!compressed) throw Frame.damaged(file, s"block $seen is compressed in a file that has no codec")
        val raw = new Array[Byte](rawLength)
        val got =
          try decompressor.decompress(stored, 0, storedLength, raw, 0, rawLength)
          catch { case _: LZ4Exception => -1 }
        if (got != rawLength) throw Frame.damaged(file, s"block $seen does not decompress")
        each(raw, rawLength)
      }
      position += storedLength
      seen += 1
    }
    if (seen != blocks) throw Frame.damaged(file, s"it has $seen blocks and names $blocks")
  }

  override def close(): Unit = input.close()

  private def read(position: Long, count: Int): Array[Byte] =
    if (whole != null) java.util.Arrays.copyOfRange(whole, position.toInt, position.toInt + count)
    else {
      val bytes = new Array[Byte](count)
      input.readFully(position, bytes, 0, count)
      bytes
    }

  private def text(bytes: Array[Byte], offset: Int): String = new String(bytes, offset, 8, "ISO-8859-1")

  private def readingOrClosing[A](body: => A): A =
    try body
    catch { case e: Throwable => input.close(); throw e }
}

private[snapline] object FrameReader {
  val ReadAtOnce: Long = 16L << 20

  /** Whether the file was written to its end. Nothing else is checked. */
  def isFinished(storage: CheckpointStorage, name: String): Boolean = {
    val input = storage.open(name)
    try
      hasRoom(input) && {
        val trailer = new Array[Byte](Frame.TrailerBytes)
        input.readFully(input.length - Frame.TrailerBytes, trailer, 0, Frame.TrailerBytes)
        isEnd(trailer)
      }
    finally input.close()
  }

  private def hasRoom(input: StoredInput) = input.length >= Frame.HeaderBytes + Frame.TrailerBytes

  private def isEnd(trailer: Array[Byte]) = new String(trailer, 24, 8, "ISO-8859-1") == Frame.EndMagic

  /** Spark's changelogs begin with the frame of their codec (LZ4, Zstandard, Snappy, LZF), its snapshots with that of a
    * zip file.
    */
  private def foreign(header: Array[Byte]): Boolean = {
    val text = new String(header, 0, 8, "ISO-8859-1")
    Seq(
      "LZ4Block",
      "PK\u0003\u0004",
      "\u0028\u00b5\u002f\u00fd",
      "\u0082SNAPPY\u0000",
      "ZV\u0001"
    ).exists(text.startsWith)
  }
}
