package org.apache.spark.sql.execution.python.snapline

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** A keyed function over a stream or a bounded table.
  *
  * @param order
  *   the columns that fix the order of a key's rows within a micro-batch
  */
private[snapline] case class KeyedProcess(
    function: KeyedFunction,
    keys: Seq[Attribute],
    order: Seq[Attribute],
    outputAttributes: Seq[Attribute],
    child: LogicalPlan
) extends UnaryNode
    with KeyedNode {
  override def newInstance(): LogicalPlan = copy(outputAttributes = outputAttributes.map(_.newInstance()))

  override protected def withNewChildInternal(newChild: LogicalPlan): KeyedProcess = copy(child = newChild)
}
