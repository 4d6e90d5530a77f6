package io.snapline.snapshot.format

import java.nio.{ByteBuffer, ByteOrder}
import java.util.zip.CRC32C

import io.snapline.error.CheckpointDamaged

/** Numbers of the frame that all kinds of file have (docs/FORMAT.md section 2). */
private[snapline] object Frame {
  val ChangelogMagic = "SNAPCLOG"
  val HandleMagic = "SNAPHNDL"
  val MetadataMagic = "SNAPMETA"
  val MergedMagic = "SNAPMERG"
  val CutMagic = "SNAPCUTS"
  val SavepointMagic = "SNAPSAVE"
  val EndMagic = "SNAPLEND"
  val FormatNumber = 1

  /** The format of a `_metadata` that names handles in merged files. */
  val MergedFormatNumber = 2

  /** The format of a savepoint's `_metadata` whose stores have in-flight data. Python writes it. */
  val InFlightFormatNumber = 3
  val HeaderBytes = 16
  val BlockHeaderBytes = 12
  val TrailerBytes = 32
  val MaxRawBytes: Int = 1 << 30

  /** LZ4 cannot expand further: a larger raw length is a lie, told before memory is taken for it. */
  val MaxRatio: Long = 256
  val CodecNone = 0
  val CodecLz4 = 1

  /** The greatest format number that is read of a kind of file. */
  def newestFormat(magic: String): Int = magic match {
    case MetadataMagic => MergedFormatNumber
    case SavepointMagic => InFlightFormatNumber
    case _ => FormatNumber
  }

  def buffer(size: Int): ByteBuffer = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN)

  def wrap(bytes: Array[Byte], offset: Int, length: Int): ByteBuffer =
    ByteBuffer.wrap(bytes, offset, length).slice().order(ByteOrder.LITTLE_ENDIAN)

  def crc(bytes: Array[Byte], offset: Int, length: Int): Int = {
    val crc = new CRC32C
    crc.update(bytes, offset, length)
    crc.getValue.toInt
  }

  def crc(first: Array[Byte], firstLength: Int, second: Array[Byte], offset: Int, length: Int): Int = {
    val crc = new CRC32C
    crc.update(first, 0, firstLength)
    crc.update(second, offset, length)
    crc.getValue.toInt
  }

  def damaged(file: String, what: String): CheckpointDamaged = new CheckpointDamaged(
    s"$file: $what.",
    "run `snapline checkpoints verify` on the checkpoint: it names the newest version that loads; restart the query from that one."
  )
}
