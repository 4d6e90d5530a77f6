package org.apache.spark.sql.execution.streaming.state.snapline

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.optimizer.NormalizeFloatingNumbers

/** Keys as GROUP BY has them: there is one NaN and no negative zero, at any depth. Equal keys are equal bytes then. */
object GroupingKeys {
  def of(key: Expression): Expression = NormalizeFloatingNumbers.normalize(key)
}
