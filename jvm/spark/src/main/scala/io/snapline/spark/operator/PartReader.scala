package io.snapline.spark.operator

import java.io.ByteArrayInputStream
import java.nio.channels.Channels

import scala.jdk.CollectionConverters._

import org.apache.arrow.memory.BufferAllocator
import org.apache.arrow.vector.{VectorLoader, VectorSchemaRoot}
import org.apache.arrow.vector.ipc.{ReadChannel, WriteChannel}
import org.apache.arrow.vector.ipc.message.{ArrowRecordBatch, MessageSerializer}
import org.apache.arrow.vector.types.pojo.Schema
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnVector, ColumnarBatch}

import io.snapline.error.InternalError

/** Reads the parts of one kind that the worker sends. The batch is good until the next is read; owns its vectors until `close`. */
final class PartReader(val id: Int, schema: Schema, allocator: BufferAllocator) extends AutoCloseable {
  private val root = VectorSchemaRoot.create(schema, allocator)
  private val loader = new VectorLoader(root)
  private var batch: ColumnarBatch = _

  def read(frame: Frame, part: Int): ColumnarBatch = {
    val in = new ByteArrayInputStream(frame.bytes, frame.offset(part), frame.length(part))
    MessageSerializer.deserializeMessageBatch(new ReadChannel(Channels.newChannel(in)), allocator) match {
      case records: ArrowRecordBatch =>
        try loader.load(records)
        finally records.close()
      case other => throw new InternalError(s"Part $id holds $other where a record batch is due.")
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
