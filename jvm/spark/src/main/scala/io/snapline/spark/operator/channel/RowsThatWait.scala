package io.snapline.spark.operator.channel

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Finds again, in another order, the rows of a batch that waited at its end. Of rows that are equal the last ones do:
  * all are counted before the first is asked about.
  *
  * @param refuse
  *   told how many of them are not there
  */
private[operator] final class RowsThatWait(left: Seq[RowIdentity], refuse: Int => Unit) {
  private final class Count(var waiting: Int, var seen: Int)
  private val counts = mutable.HashMap.empty[RowIdentity, Count]
  left.foreach(id => counts.getOrElseUpdate(id, new Count(0, 0)).waiting += 1)

  def count(row: UnsafeRow): Unit = counts.get(RowIdentity.of(row)).foreach(_.seen += 1)

  /** When all have been counted, before the first is asked about. */
  def counted(): Unit = {
    val missing = counts.values.map(count => math.max(0, count.waiting - count.seen)).sum
    if (missing > 0) refuse(missing)
  }

  /** Whether this row waits; asked once for each, in the order they come. */
  def has(row: UnsafeRow): Boolean = counts.get(RowIdentity.of(row)).exists { count =>
    count.seen -= 1
    count.seen < count.waiting
  }
}
