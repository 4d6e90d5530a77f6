package io.snapline.spark.operator.task

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow

/** A partition's rows, of which some may be given back. */
final class RowSource(source: Iterator[InternalRow]) extends Iterator[InternalRow] {
  private val back = mutable.Queue.empty[InternalRow]
  private var first: InternalRow = _

  override def hasNext: Boolean = first != null || back.nonEmpty || source.hasNext

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
