package org.apache.spark.sql.execution.streaming.state
package snapline

import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExecBase

/** An operator that does not ask for Spark's RocksDB provider by class name: on this line none does. */
trait AnyProvider extends TransformWithStateExecBase
