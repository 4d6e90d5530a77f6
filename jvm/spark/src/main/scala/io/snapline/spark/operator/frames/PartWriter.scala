package io.snapline.spark.operator.frames

import java.nio.channels.Channels

import scala.jdk.CollectionConverters._

import org.apache.arrow.memory.BufferAllocator
import org.apache.arrow.vector.{IntVector, VectorSchemaRoot, VectorUnloader}
import org.apache.arrow.vector.ipc.message.MessageSerializer
import org.apache.arrow.vector.ipc.WriteChannel
import org.apache.arrow.vector.types.pojo.Schema
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.arrow.ArrowWriter
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnarBatch, ColumnVector}

import io.snapline.spark.settings.WorkerLimits

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

/** Bytes of rows as Spark holds them, which is about what Arrow takes for them. */
final class RowSize(what: String, schema: StructType) {
  private lazy val toRaw = UnsafeProjection.create(schema)

  /** Refuses a row that cannot travel, and names its largest column. */
  def of(row: InternalRow): Int = {
    val bytes = ofAny(row)
    if (bytes > WorkerLimits.MostBytes)
      throw WorkerLimits.tooLarge(s"$what, most of it in column ${widest(row)},", bytes.toLong)
    bytes
  }

  def ofAny(row: InternalRow): Int = row match {
    case raw: UnsafeRow => raw.getSizeInBytes
    case other => toRaw(other).getSizeInBytes
  }

  private def widest(row: InternalRow): String = {
    def alone(i: Int): Int = UnsafeProjection.create(StructType(schema.fields.slice(i, i + 1)))
      .apply(InternalRow(row.get(i, schema(i).dataType))).getSizeInBytes
    schema(schema.indices.maxBy(alone)).name
  }
}

/** Bytes of state that may still go with a chunk. */
final class ByteBudget(val total: Long) {
  private var used = 0L

  def left: Long = math.max(0L, total - used)

  def take(bytes: Long): Unit = used += bytes
}

/** How many values to read from the store at once: few at first, then as many as fit, going by those before. */
final class ReadAhead {
  private var values = 0L
  private var bytes = 0L
  private var most = 16

  def next(budget: ByteBudget, wanted: Int): Int = {
    val fitting = if (bytes == 0) most.toLong else budget.left * values / bytes
    math.min(wanted.toLong, math.max(1L, math.min(fitting, most.toLong))).toInt
  }

  def read(count: Int, size: Long): Unit = {
    // Values that were read long ago count less and less.
    if (values > ReadAhead.Remembered) {
      values /= 2
      bytes /= 2
    }
    values += count
    bytes += size
    if (count == most) most = math.min(most * 4, ReadAhead.Most)
  }
}

private object ReadAhead {
  private val Most = 1 << 20
  private val Remembered = 1L << 16
}
