package io.snapline.spark.operator.channel

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Finds again, in another order, the rows of a batch that waited at its end. Of rows that are equal the last ones do: all are counted before the first is asked about. */
private[operator] final class RowsThatWait(left: Seq[RowIdentity]) {
  private final class Count(var waiting: Int, var seen: Int)
  private val counts = mutable.HashMap.empty[RowIdentity, Count]
  left.foreach(id => counts.getOrElseUpdate(id, new Count(0, 0)).waiting += 1)

  def count(row: UnsafeRow): Unit = counts.get(RowIdentity.of(row)).foreach(_.seen += 1)

  /** Whether this row waits; asked once for each, in the order they come. */
  def has(row: UnsafeRow): Boolean = counts.get(RowIdentity.of(row)).exists { count =>
    count.seen -= 1
    count.seen < count.waiting
  }

  /** How many that waited have not been counted. */
  def missing: Int = missingCount
  private lazy val missingCount = counts.values.map(c => math.max(0, c.waiting - c.seen)).sum

  /** When all have been counted, before the first is asked about. */
  def counted(): Unit = missingCount: Unit
}
