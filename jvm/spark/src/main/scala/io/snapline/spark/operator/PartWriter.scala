package io.snapline.spark.operator

import java.nio.channels.Channels

import org.apache.arrow.memory.BufferAllocator
import org.apache.arrow.vector.{VectorSchemaRoot, VectorUnloader}
import org.apache.arrow.vector.ipc.WriteChannel
import org.apache.arrow.vector.ipc.message.MessageSerializer
import org.apache.arrow.vector.types.pojo.Schema
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.arrow.ArrowWriter

/** Writes the rows of one kind of part. Owns its vectors until `close`. */
final class PartWriter(val id: Int, schema: Schema, allocator: BufferAllocator) extends AutoCloseable {
  private val root = VectorSchemaRoot.create(schema, allocator)
  private val writer = ArrowWriter.create(root)
  private val unloader = new VectorUnloader(root)
  private var count = 0

  def rows: Int = count

  def write(row: InternalRow): Unit = {
    writer.write(row)
    count += 1
  }

  /** Bytes of what is gathered, as Arrow holds them. */
  def bytes: Long = writer.sizeInBytes()

  /** Moves the gathered rows into a frame. */
  def flush(frame: FrameBuilder): Unit = {
    writer.finish()
    val batch = unloader.getRecordBatch
    try
      frame.part(id) { out =>
        MessageSerializer.serialize(new WriteChannel(Channels.newChannel(out)), batch): Unit
      }
    finally batch.close()
    writer.reset()
    count = 0
  }

  def describe(frame: FrameBuilder): Unit = frame.part(id) { out =>
    MessageSerializer.serialize(new WriteChannel(Channels.newChannel(out)), schema): Unit
  }

  override def close(): Unit = root.close()
}
