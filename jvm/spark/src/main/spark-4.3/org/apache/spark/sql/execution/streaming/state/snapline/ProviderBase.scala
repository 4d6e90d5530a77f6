package org.apache.spark.sql.execution.streaming.state
package snapline

import scala.annotation.unused

/** A provider whose maintenance is one thing, under the names that this release line of Spark calls.
  *
  * Spark calls the whole when a task unloads the store. Otherwise it calls snapshots and clean-up apart, from two pools
  * of threads, never two at a time for one store. Snapshots have threads of our own.
  *
  * A subclass of Spark's RocksDB provider, because Spark plans the newer formats of a join's state for such providers
  * alone (`MicroBatchExecution.applyJoinStateConfigGuardrails`). Nothing of that class is used: every method that a
  * provider has is overridden, and its RocksDB is never made.
  *
  * @param checked
  *   evaluated before any constructor of Spark's runs, which may be those of another release line
  */
abstract class ProviderBase(@unused checked: Unit) extends RocksDBStateStoreProvider {
  protected def maintain(): Unit

  override def doMaintenance(): Unit = maintain()

  override def doSnapshotMaintenance(): Unit = ()

  override def doCleanupMaintenance(): Unit = maintain()
}
