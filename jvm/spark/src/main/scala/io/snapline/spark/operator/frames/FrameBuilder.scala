package io.snapline.spark.operator.frames

import java.io.OutputStream
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable.ArrayBuffer

import org.json4s.JsonAST.JObject
import org.json4s.jackson.JsonMethods

import io.snapline.spark.settings.WorkerLimits

/** Gathers the parts of one frame. */
final class FrameBuilder(kind: Int) {
  private val ids = ArrayBuffer.empty[Int]
  private val lengths = ArrayBuffer.empty[Int]
  private val body = new FrameBuilder.Bytes

  def part(id: Int)(write: OutputStream => Unit): Unit = {
    val start = body.size
    write(body)
    ids += id
    lengths += body.size - start
    body.zeros(WorkerFrame.padded(body.size) - body.size)
  }

  /** Makes room for a part that comes; what is large is not copied again and again. */
  def reserve(bytes: Long): Unit = body.reserve(bytes)

  def size: Int = body.size

  /** The frame's bytes, in two pieces, to be written one after the other. */
  def build(meta: JObject = JObject()): Array[ByteBuffer] = {
    val json = JsonMethods.compact(meta).getBytes(UTF_8)
    val head = WorkerFrame.padded(12 + 8 * ids.size + json.length)
    val header = ByteBuffer.allocate(4 + head)
    header.putInt(head + body.size).putInt(kind).putInt(json.length).putInt(ids.size)
    ids.indices.foreach(i => header.putInt(ids(i)).putInt(lengths(i)))
    header.put(json)
    header.position(0)
    Array(header, body.buffer)
  }
}

object FrameBuilder {
  private val Extra = 1 << 12

  /** The length of the longest array. */
  private val Most = Int.MaxValue - (1L << 16)

  /** An output stream into one array, which is handed out without a copy. */
  private final class Bytes extends OutputStream {
    private var bytes = new Array[Byte](1 << 16)
    var size = 0

    override def write(byte: Int): Unit = {
      ensure(1)
      bytes(size) = byte.toByte
      size += 1
    }

    override def write(from: Array[Byte], offset: Int, length: Int): Unit = {
      ensure(length)
      System.arraycopy(from, offset, bytes, size, length)
      size += length
    }

    def reserve(more: Long): Unit = if (more > bytes.length - size) {
      // With room for the message's head and the padding.
      val wanted = size + more + FrameBuilder.Extra
      if (wanted > FrameBuilder.Most) throw WorkerLimits.tooLarge("what belongs to one chunk, together", wanted)
      bytes = java.util.Arrays.copyOf(bytes, math.max(wanted, math.min(bytes.length * 2L, FrameBuilder.Most)).toInt)
    }

    def zeros(count: Int): Unit = (0 until count).foreach(_ => write(0))

    def buffer: ByteBuffer = ByteBuffer.wrap(bytes, 0, size)

    private def ensure(more: Int): Unit =
      if (bytes.length - size < more) bytes = java.util.Arrays.copyOf(bytes, math.max(bytes.length * 2, size + more))
  }
}
