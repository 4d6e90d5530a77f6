package org.apache.spark.sql.execution.python.snapline

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{BinaryNode, LogicalPlan}

/** A keyed function that begins with the state of a bounded table.
  *
  * @param left
  *   the rows
  * @param right
  *   the rows of the initial state, for `function.initial`
  */
private[snapline] case class KeyedInitial(
    function: KeyedFunction,
    keys: Seq[Attribute],
    order: Seq[Attribute],
    initialKeys: Seq[Attribute],
    outputAttributes: Seq[Attribute],
    left: LogicalPlan,
    right: LogicalPlan
) extends BinaryNode
    with KeyedNode {
  override def newInstance(): LogicalPlan = copy(outputAttributes = outputAttributes.map(_.newInstance()))

  override protected def withNewChildrenInternal(newLeft: LogicalPlan, newRight: LogicalPlan): KeyedInitial =
    copy(left = newLeft, right = newRight)
}
