package org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate
package snapline

/** An operator that does not ask for Spark's RocksDB provider by class name: on this line none does. */
trait AnyProvider extends TransformWithStateExecBase
