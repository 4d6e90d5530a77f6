package io.snapline.spark.operator.task

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.AccumulatorV2

/** A partition's rows, of which some may be given back. */
final class RowSource(source: Iterator[InternalRow]) extends Iterator[InternalRow] {
  private val back = mutable.Queue.empty[InternalRow]
  private var first: InternalRow = _

  /** Where rows come one by one, and may be long in coming. */
  val live: Option[LiveRows] = source match {
    case rows: LiveRows => Some(rows)
    case _ => None
  }

  override def hasNext: Boolean = holdsOne || source.hasNext

  /** Whether a row is there without waiting for it. */
  def isReady: Boolean = holdsOne || live.fold(source.hasNext)(_.isReady)

  /** Whether no row is there, and none comes. */
  def isOver: Boolean = !holdsOne && live.fold(!source.hasNext)(_.isOver)

  private def holdsOne: Boolean = first != null || back.nonEmpty

  /** The next row, which stays. */
  def head: InternalRow = {
    if (first == null) first = take()
    first
  }

  override def next(): InternalRow =
    if (first == null) take()
    else {
      val row = first
      first = null
      row
    }

  private def take(): InternalRow = if (back.nonEmpty) back.dequeue() else source.next()

  /** Rows that were taken, in their order: they come before all others again. */
  def giveBack(rows: Seq[InternalRow]): Unit = {
    // The source lends a row only until it is asked for another.
    val later = Option(first).map(_.copy())
    first = null
    back.prependAll(rows ++ later): Unit
  }
}

/** The rows of the broadcast stream that every partition of an operator gets in a micro-batch: the same rows in the
  * same order.
  *
  * @param schema
  *   None: it has no broadcast stream
  */
final class BroadcastRows(val schema: Option[StructType], val rows: Array[InternalRow]) {
  def isEmpty: Boolean = rows.isEmpty
}

object BroadcastRows {
  val None: BroadcastRows = new BroadcastRows(scala.None, Array.empty)
}

/** The earliest of the times the tasks name; Long.MaxValue if none does. */
final class EarliestTime extends AccumulatorV2[Long, Long] {
  private var earliest = Long.MaxValue

  override def isZero: Boolean = earliest == Long.MaxValue
  override def copy(): EarliestTime = {
    val other = new EarliestTime
    other.add(earliest)
    other
  }
  override def reset(): Unit = earliest = Long.MaxValue
  override def add(time: Long): Unit = earliest = math.min(earliest, time)
  override def merge(other: AccumulatorV2[Long, Long]): Unit = add(other.value)
  override def value: Long = earliest
}

/** Tells late rows, and diverts them. */
final class LateRule(val isLate: InternalRow => Boolean, val divert: InternalRow => Unit)

object LateRule {
  val None: LateRule = new LateRule(_ => false, _ => ())

  /** From a late row to a row of the output in which only the side output `tag` is set. */
  def projection(setup: TaskSetup, tag: String): UnsafeProjection = UnsafeProjection.create(
    setup.output.fields.toSeq.map { field =>
      if (field.name == tag) {
        CreateNamedStruct(setup.input.zipWithIndex.flatMap { case (column, i) =>
          Seq(Literal(column.name), BoundReference(i, column.dataType, column.nullable))
        })
      } else Literal.create(null, field.dataType)
    }
  )
}
