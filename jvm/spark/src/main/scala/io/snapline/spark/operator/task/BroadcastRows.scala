package io.snapline.spark.operator.task

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

/** What every partition of an operator gets of its broadcast stream in a micro-batch: the same rows in the same order.
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
