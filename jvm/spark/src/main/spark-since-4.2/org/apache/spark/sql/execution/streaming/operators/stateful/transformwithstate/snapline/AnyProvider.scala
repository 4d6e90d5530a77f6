package org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate
package snapline

/** An operator that does not ask for Spark's RocksDB provider by class name. */
trait AnyProvider extends TransformWithStateExecBase {
  override protected def validateStateStoreProvider(isStreaming: Boolean): Unit = ()
}
