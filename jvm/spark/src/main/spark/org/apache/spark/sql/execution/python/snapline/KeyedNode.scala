package org.apache.spark.sql.execution.python.snapline

import io.snapline.spark.operator.state.KeyedSpec

import org.apache.spark.api.python.PythonFunction
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** A function of rows in a logical plan. */
private[snapline] trait KeyedNode extends LogicalPlan with MultiInstanceRelation {
  def function: KeyedFunction

  def outputAttributes: Seq[Attribute]

  override def output: Seq[Attribute] = outputAttributes

  override def producedAttributes: AttributeSet = AttributeSet(outputAttributes)

  /** Every column is the function's to see. */
  override lazy val references: AttributeSet = AttributeSet.fromAttributeSets(children.map(_.outputSet))
}

/** The function and what the Python package declared of it; no expression, so that no rule of Spark takes it for one of
  * its own.
  *
  * @param initial
  *   what handles the rows of the initial state, if there is one: a function of the same states
  */
private[snapline] final class KeyedFunction(
    val python: PythonFunction,
    val spec: KeyedSpec,
    val initial: Option[KeyedFunction] = None
) extends Serializable {
  override def toString: String = spec.toString
}
