package org.apache.spark.sql.execution.python.snapline

import io.snapline.spark.operator.state.KeyedSpec

import org.apache.spark.api.python.PythonFunction
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
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
    with MultiInstanceRelation {
  override def output: Seq[Attribute] = outputAttributes

  override def producedAttributes: AttributeSet = AttributeSet(outputAttributes)

  /** Every column is the function's to see. */
  override lazy val references: AttributeSet = child.outputSet

  override def newInstance(): LogicalPlan = copy(outputAttributes = outputAttributes.map(_.newInstance()))

  override protected def withNewChildInternal(newChild: LogicalPlan): KeyedProcess = copy(child = newChild)
}

/** The function and what the Python package declared of it; no expression, so that no rule of Spark takes it for one of
  * its own.
  */
private[snapline] final class KeyedFunction(val python: PythonFunction, val spec: KeyedSpec) extends Serializable {
  override def toString: String = spec.toString
}
