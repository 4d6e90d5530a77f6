package org.apache.spark.sql.execution.streaming
package snapline.rules

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreWriter

private[rules] object PlannedState {

  /** Whether an operator is of a micro-batch that will run. A bounded query has no checkpoint folder, and a plan that
    * is only explained has none that is one: Spark 4.1 explains each micro-batch by a plan of its own, after the real
    * one.
    */
  def isOfBatch(operator: StateStoreWriter): Boolean = operator.stateInfo.exists { info =>
    info.checkpointLocation.nonEmpty && new Path(info.checkpointLocation).isAbsolute
  }
}
