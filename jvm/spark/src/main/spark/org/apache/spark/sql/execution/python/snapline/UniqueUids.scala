package org.apache.spark.sql.execution.python.snapline

import io.snapline.error.InvalidConfiguration

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** Sees every plan: a uid that two operators have would lead to the state of one of them only. */
object UniqueUids extends (LogicalPlan => Unit) {
  override def apply(plan: LogicalPlan): Unit = {
    val uids = plan.collect { case node: KeyedNode => node.function.spec.uid }.flatten
    uids.diff(uids.distinct).headOption.foreach { uid =>
      throw new InvalidConfiguration(
        s"Two operators of the plan have the uid '$uid'.",
        "give each its own; a DataFrame that is used twice is planned twice: use it once, with a uid, or leave the uid out."
      )
    }
  }
}
