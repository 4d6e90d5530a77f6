package io.snapline.spark.operator.channel

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.state.{NoPrefixKeyStateEncoderSpec, StateStore}
import org.apache.spark.sql.types._

import io.snapline.error.IncompatibleState
import io.snapline.spark.operator.state.SchemaChange
import io.snapline.spark.provider.SnaplineStateStore

/** Rows that micro-batches have left, raw and in order, in a column family of the partition's store: they are
  * committed, snapshotted and recovered with the state they belong to. One task's, on its thread.
  *
  * @param rows
  *   as the query has them now
  */
final class ChannelState private (store: StateStore, rows: RowSchema, exists: Boolean) {
  import ChannelState._

  private var declared = false
  // Most micro-batches have none of these rows, and each projection costs a small one a millisecond.
  private lazy val toKey = UnsafeProjection.create(Key)
  private lazy val toValue = UnsafeProjection.create(Value)
  private var index = ChannelIndex.Empty

  if (exists) {
    declare()
    val stored = store.get(key(IndexEntry), Family)
    if (stored != null) index = ChannelIndex.parse(stored.getBinary(0), store.id.toString)
    report()
  }

  private def declare(): Unit = if (!declared) {
    store.createColFamilyIfAbsent(Family, Key, Value, NoPrefixKeyStateEncoderSpec(Key), false, true)
    declared = true
  }

  private def key(number: Long): UnsafeRow = toKey(InternalRow(number))

  /** The segments that wait, the oldest first. */
  def segments: Seq[Segment] = index.segments.map(_.segment)

  def rowCount: Long = index.segments.map(_.rowCount).sum

  def bytes: Long = index.segments.map(_.bytes).sum

  def rowsOf(segment: Segment): Long = waiting(segment).rowCount

  private def waiting(segment: Segment): WaitingSegment =
    index.segments.find(_.segment == segment).getOrElse(throw new NoSuchElementException(s"No $segment waits."))

  /** The rows of a segment in order, in the schema in force. Each is good until the next is taken. */
  def read(segment: Segment): Iterator[InternalRow] = {
    val waits = waiting(segment)
    val schema = index.schemas(waits.schema).columns
    val raw = waits.rows(schema.length, block => store.get(key(block), Family).getBinary(0))
    if (SchemaChange.isNone(schema, rows.columns)) raw
    else {
      val problems = SchemaChange.problems(schema, rows.columns, "row")
      if (problems.nonEmpty) {
        throw new IncompatibleState(
          s"Rows that wait as channel state have another schema than the query's input: ${problems.mkString("; ")}.",
          "run the query as it was until its progress shows no more channel state (numChannelRows), then change it."
        )
      }
      val convert = SchemaChange.projection(schema, rows.columns)
      raw.map(convert(_))
    }
  }

  /** A segment is through: its rows and its timers. */
  def finished(segment: Segment): Unit = {
    waiting(segment).blocks.foreach(remove)
    change(index.copy(segments = index.segments.filterNot(_.segment == segment)))
  }

  /** The first rows of a segment are through; the rest goes on waiting. */
  def advance(segment: Segment, processed: Long): Unit = {
    val (rest, gone) = waiting(segment).after(processed)
    gone.foreach(remove)
    change(index.copy(segments = index.segments.map(s => if (s.segment == segment) rest else s)))
  }

  /** Adds a segment behind those that wait, when it is closed. It may have no rows: its timers wait all the same. */
  def append(segment: Segment): Appender = new Appender(segment)

  final class Appender private[ChannelState] (segment: Segment) {
    declare()
    private val blocks = Seq.newBuilder[Int]
    private val writer = new RowBlock.Writer
    private var next = index.nextBlock
    private var bytes = 0L

    def add(row: UnsafeRow): Unit = {
      writer.add(row)
      if (writer.isFull) flush()
    }

    private def flush(): Unit = if (writer.rows > 0) {
      blocks += writer.rows
      val block = writer.take()
      bytes += block.length
      store.put(key(next), toValue(InternalRow(block)), Family)
      next += 1
    }

    def close(): Unit = {
      flush()
      val (withSchema, schema) = index.numbered(rows)
      val waits = WaitingSegment(segment, schema, index.nextBlock, 0, blocks.result(), bytes)
      change(withSchema.copy(nextBlock = next, segments = index.segments :+ waits))
    }
  }

  private def remove(block: Long): Unit = store.remove(key(block), Family)

  private def change(now: ChannelIndex): Unit = {
    index = now
    if (now.segments.isEmpty) store.remove(key(IndexEntry), Family)
    else store.put(key(IndexEntry), toValue(InternalRow(now.bytes)), Family)
    report()
  }

  private def report(): Unit = store match {
    case own: SnaplineStateStore => own.keepsInFlight(bytes)
    case _ => ()
  }
}

object ChannelState {
  private[spark] val Family = "$channel"
  private[channel] val IndexEntry = 0L
  private[spark] val Key: StructType = new StructType().add("entry", LongType, nullable = false)
  private[spark] val Value: StructType = new StructType().add("content", BinaryType, nullable = false)

  /** A store that never had any is not touched until there is some. */
  private[spark] def of(store: StateStore, rows: RowSchema): ChannelState = store match {
    case own: SnaplineStateStore => new ChannelState(store, rows, own.holds(Family))
    case _ => new ChannelState(store, rows, exists = false)
  }
}
