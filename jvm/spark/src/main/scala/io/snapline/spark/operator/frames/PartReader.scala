package io.snapline.spark.operator.frames

import java.io.ByteArrayInputStream
import java.nio.ByteBuffer
import java.nio.channels.Channels

import scala.jdk.CollectionConverters._

import org.apache.arrow.memory.BufferAllocator
import org.apache.arrow.vector.ipc.message.MessageSerializer
import org.apache.arrow.vector.ipc.{ReadChannel, WriteChannel}
import org.apache.arrow.vector.types.pojo.Schema
import org.apache.arrow.vector.{VectorLoader, VectorSchemaRoot}
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnarBatch, ColumnVector}

/** Reads the parts of one kind that the worker sends. The batch is good until the next is read; owns its vectors until
  * `close`.
  */
final class PartReader(val id: Int, schema: Schema, allocator: BufferAllocator) extends AutoCloseable {
  private val root = VectorSchemaRoot.create(schema, allocator)
  private val loader = new VectorLoader(root)
  private var batch: ColumnarBatch = _

  def read(frame: WorkerFrame, part: Int): ColumnarBatch = {
    val in = new ByteArrayInputStream(frame.bytes, frame.offset(part), frame.length(part))
    val channel = new ReadChannel(Channels.newChannel(in))
    val message = MessageSerializer.readMessage(channel)
    // A batch without rows has no body.
    if (message.getMessageBodyLength == 0) root.setRowCount(0)
    else {
      val body = MessageSerializer.readMessageBody(channel, message.getMessageBodyLength, allocator)
      val records = MessageSerializer.deserializeRecordBatch(message.getMessage, body)
      try loader.load(records)
      finally records.close()
    }
    if (batch == null) {
      batch = new ColumnarBatch(root.getFieldVectors.asScala.map(new ArrowColumnVector(_): ColumnVector).toArray)
    }
    batch.setNumRows(root.getRowCount)
    batch
  }

  def describe(frame: FrameBuilder): Unit = frame.part(id) { out =>
    MessageSerializer.serialize(new WriteChannel(Channels.newChannel(out)), schema): Unit
  }

  override def close(): Unit = root.close()
}

/** The two-way stream of frames to one worker. */
trait WorkerLink {

  /** Queues a frame; what the socket takes at once is on its way when this returns. */
  def send(frame: Array[ByteBuffer]): Unit

  /** Waits for the worker's next frame; null when it has ended as it should. */
  def receive(): WorkerFrame

  /** No more frames will be sent. */
  def finish(): Unit
}
