package io.snapline.spark.operator.exchange

import java.nio.channels.Channels

import scala.jdk.CollectionConverters._

import org.apache.arrow.memory.BufferAllocator
import org.apache.arrow.vector.{IntVector, VectorSchemaRoot, VectorUnloader}
import org.apache.arrow.vector.ipc.WriteChannel
import org.apache.arrow.vector.ipc.message.MessageSerializer
import org.apache.arrow.vector.types.pojo.Schema
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.arrow.ArrowWriter
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnVector, ColumnarBatch}

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
    put(unloader, frame)
    forget()
  }

  /** Moves the first rows into a frame, and forgets the others. */
  def flushFirst(rows: Int, frame: FrameBuilder): Unit =
    if (rows == count) flush(frame)
    else {
      writer.finish()
      val first = root.slice(0, rows)
      try put(new VectorUnloader(first), frame)
      finally first.close()
      forget()
    }

  private def put(unloader: VectorUnloader, frame: FrameBuilder): Unit = {
    val batch = unloader.getRecordBatch
    try {
      frame.reserve(batch.computeBodyLength())
      frame.part(id) { out =>
        MessageSerializer.serialize(new WriteChannel(Channels.newChannel(out)), batch): Unit
      }
    } finally batch.close()
  }

  private def forget(): Unit = {
    writer.reset()
    count = 0
  }

  /** The rows from one on, as they were written; good until the writer is used. */
  def rowsFrom(first: Int): Iterator[InternalRow] = {
    writer.finish()
    val columns = root.getFieldVectors.asScala.map(new ArrowColumnVector(_): ColumnVector).toArray
    val batch = new ColumnarBatch(columns, count)
    (first until count).iterator.map(batch.getRow)
  }

  /** How many of the gathered rows have less than this in their first column, whose numbers grow. */
  def rowsBelow(number: Int): Int = {
    val numbers = root.getVector(0).asInstanceOf[IntVector]
    var rows = count
    while (rows > 0 && numbers.get(rows - 1) >= number) rows -= 1
    rows
  }

  def describe(frame: FrameBuilder): Unit = frame.part(id) { out =>
    MessageSerializer.serialize(new WriteChannel(Channels.newChannel(out)), schema): Unit
  }

  override def close(): Unit = root.close()
}
