package org.apache.spark.sql.execution.python.snapline

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow

/** The rows of a partition, and those of the initial state that its keys begin with.
  *
  * It travels as the iterator of the rows: Spark hands an operator with state one iterator for each partition.
  */
private[snapline] final class InitialRows(val initial: Iterator[InternalRow], rows: Iterator[InternalRow])
    extends Iterator[InternalRow] {
  override def hasNext: Boolean = rows.hasNext
  override def next(): InternalRow = rows.next()
}

private[snapline] object InitialRows {

  /** Both are partitioned alike. */
  def zip(rows: RDD[InternalRow], initial: RDD[InternalRow]): RDD[InternalRow] =
    rows.zipPartitions(initial)((own, begins) => new InitialRows(begins, own))

  /** Those of a partition; none if the operator has no initial state, or had it in an earlier micro-batch. */
  def of(rows: Iterator[InternalRow]): Iterator[InternalRow] = rows match {
    case both: InitialRows => both.initial
    case _ => Iterator.empty
  }
}
