package org.apache.spark.sql.execution.streaming.state
package snapline

import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExecBase

/** An operator that does not ask for Spark's RocksDB provider by class name. */
trait AnyProvider extends TransformWithStateExecBase {
  override protected def validateStateStoreProvider(isStreaming: Boolean): Unit = ()
}
