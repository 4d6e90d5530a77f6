package org.apache.spark.sql.execution.python.snapline

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.physical.BroadcastMode
import org.apache.spark.unsafe.types.ByteArray

/** How the rows of a broadcast stream are put in order, on the driver, once for all partitions: by the columns asked
  * for, then by all others that can be ordered, then by the bytes of the row. However they arrived, they are handed
  * over in one order.
  */
private[snapline] final case class SortedRows(columns: Seq[SortOrder]) extends BroadcastMode {
  override lazy val canonicalized: BroadcastMode = this

  override def transform(rows: Iterator[InternalRow], sizeHint: Option[Long]): Any = transform(rows.toArray)

  override def transform(rows: Array[InternalRow]): Any =
    if (rows.length < 2) rows
    else {
      val byColumns = new InterpretedOrdering(columns)
      rows.sorted(new Ordering[InternalRow] {
        override def compare(a: InternalRow, b: InternalRow): Int = {
          val order = byColumns.compare(a, b)
          if (order != 0) order else ByteArray.compareBinary(bytes(a), bytes(b))
        }
      })
    }

  private def bytes(row: InternalRow): Array[Byte] = row.asInstanceOf[UnsafeRow].getBytes
}

private[snapline] object SortedRows {
  def of(order: Seq[Attribute], all: Seq[Attribute]): SortedRows = {
    val columns = order ++ all.filterNot(column => order.exists(_.exprId == column.exprId))
    val bound = columns.filter(column => RowOrdering.isOrderable(column.dataType))
      .map(column => SortOrder(BindReferences.bindReference[Expression](column, AttributeSeq(all)), Ascending))
    SortedRows(bound)
  }
}
