package io.snapline.spark.operator.channel

import java.io.{File, RandomAccessFile}
import java.util.Arrays

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}

import io.snapline.error.IncompatibleState
import io.snapline.spark.provider.StateFamily
import io.snapline.state.{ColumnFamily, FamilyDescriptor}

/** Takes rows that wait out of the channels of some partitions, and makes channels for others, where the rows' keys
  * belong. The rows that one micro-batch has left are one segment again. Every new channel has that segment, with rows
  * or without: timers wait for it. Rows keep their order within an old partition, and so those of a key keep theirs.
  *
  * Owns a file for the blocks until `close`, since channels may be more than memory holds. One thread.
  *
  * @param codec
  *   codec of the family's rows
  * @param targets
  *   the new partitions to make; rows of others are passed over
  */
private[spark] final class ChannelSpread(
    codec: StateFamily,
    targets: Seq[Int],
    scratch: File
) extends AutoCloseable {
  import ChannelSpread._

  private val toKey = UnsafeProjection.create(ChannelState.Key)
  private val toValue = UnsafeProjection.create(ChannelState.Value)
  private val blocks = new RandomAccessFile(scratch, "rw")
  private val channels = targets.map(_ -> new Channel).toMap
  private val segments = mutable.TreeMap.empty[Long, (Segment, RowSchema)]
  private var family: Option[FamilyDescriptor] = None

  /** How the channels are to be kept; None: nothing waits. */
  def descriptor: Option[FamilyDescriptor] = family.filter(_ => segments.nonEmpty)

  /** @param where
    *   for messages
    * @param placeOf
    *   makes what says of rows of a schema to which of the new partitions they belong
    */
  def add(channel: ColumnFamily, where: String, placeOf: RowSchema => UnsafeRow => Int): Unit = {
    family = Some(channel.descriptor)
    stored(channel, ChannelState.IndexEntry).foreach { bytes =>
      val index = ChannelIndex.parse(bytes, where)
      index.segments.foreach(waits => add(channel, waits, index.schemas(waits.schema), where, placeOf))
    }
  }

  private def add(
      channel: ColumnFamily,
      waits: WaitingSegment,
      schema: RowSchema,
      where: String,
      placeOf: RowSchema => UnsafeRow => Int
  ): Unit = {
    val known = segments.getOrElseUpdate(waits.segment.batch, (waits.segment, schema))
    if (known != (waits.segment, schema)) {
      throw new IncompatibleState(
        s"Rows of batch ${waits.segment.batch} that wait in $where are of another schema, time or watermark than in the partitions before.",
        Drain
      )
    }
    lazy val place = placeOf(schema)
    waits.rows(schema.columns.length, stored(channel, _).orNull).foreach { row =>
      channels.get(place(row)).foreach(_.add(waits.segment.batch, row))
    }
    // So that there is one block in memory for each channel, whatever the number of segments.
    channels.values.foreach(_.flush(waits.segment.batch))
  }

  private def stored(channel: ColumnFamily, entry: Long): Option[Array[Byte]] = {
    codec.encodeKey(toKey(InternalRow(entry)))
    val key = codec.key.copy
    Option(codec.decodeValue(key, channel.get(key))).map(_.getBinary(0))
  }

  /** The entries of a new partition's channel, in the order of their keys, each once. */
  def write(target: Int)(put: (Array[Byte], Array[Byte]) => Unit): Unit = {
    var next = ChannelState.IndexEntry + 1
    var index = ChannelIndex.Empty
    val places = mutable.HashMap.empty[Long, Place]
    segments.values.foreach { case (segment, schema) =>
      val all = channels(target).blocksOf(segment.batch)
      val (withSchema, number) = index.numbered(schema)
      val waits = WaitingSegment(segment, number, next, 0, all.map(_.rows), all.map(_.length.toLong).sum)
      all.foreach { place =>
        places(next) = place
        next += 1
      }
      index = withSchema.copy(nextBlock = next, segments = withSchema.segments :+ waits)
    }
    val content = index.bytes
    val entries = (ChannelState.IndexEntry +: places.keys.toSeq).map { entry =>
      codec.encodeKey(toKey(InternalRow(entry)))
      codec.key.copy -> entry
    }
    entries.sortWith((a, b) => Arrays.compareUnsigned(a._1, b._1) < 0).foreach { case (key, entry) =>
      // A value's checksum covers the key that was encoded last.
      codec.encodeKey(toKey(InternalRow(entry)))
      codec.encodeValue(toValue(InternalRow(places.get(entry).fold(content)(read))))
      put(key, codec.value.copy)
    }
  }

  private def read(place: Place): Array[Byte] = {
    val block = new Array[Byte](place.length)
    blocks.seek(place.offset)
    blocks.readFully(block)
    block
  }

  override def close(): Unit = {
    blocks.close()
    scratch.delete(): Unit
  }

  /** The rows for one new partition, by micro-batch. */
  private final class Channel {
    private val writer = new RowBlock.Writer
    private val flushed = mutable.HashMap.empty[Long, mutable.ArrayBuffer[Place]]

    def add(batch: Long, row: UnsafeRow): Unit = {
      writer.add(row)
      if (writer.isFull) flush(batch)
    }

    def flush(batch: Long): Unit = if (writer.rows > 0) {
      val rows = writer.rows
      val block = writer.take()
      val offset = blocks.length
      blocks.seek(offset)
      blocks.write(block)
      flushed.getOrElseUpdate(batch, mutable.ArrayBuffer.empty) += Place(offset, block.length, rows)
    }

    def blocksOf(batch: Long): Seq[Place] = flushed.get(batch).fold(Seq.empty[Place])(_.toSeq)
  }
}

private object ChannelSpread {

  /** A block in the file. */
  private final case class Place(offset: Long, length: Int, rows: Int)

  private val Drain =
    "keep the parallelism and the backend; or start the query, let it process all rows (numChannelRows in its progress), and do it then."
}
