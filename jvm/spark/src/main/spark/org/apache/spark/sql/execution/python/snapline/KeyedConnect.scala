package org.apache.spark.sql.execution.python.snapline

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{BinaryNode, LogicalPlan}

/** A function over a stream, with keys or without, and a broadcast stream.
  *
  * @param broadcastOrder
  *   the columns that fix the order of a micro-batch's broadcast rows, before all others
  */
private[snapline] case class KeyedConnect(
    function: KeyedFunction,
    keys: Seq[Attribute],
    order: Seq[Attribute],
    broadcastOrder: Seq[Attribute],
    outputAttributes: Seq[Attribute],
    left: LogicalPlan,
    right: LogicalPlan
) extends BinaryNode
    with KeyedNode {
  override def newInstance(): LogicalPlan = copy(outputAttributes = outputAttributes.map(_.newInstance()))

  override protected def withNewChildrenInternal(newLeft: LogicalPlan, newRight: LogicalPlan): KeyedConnect =
    copy(left = newLeft, right = newRight)
}
