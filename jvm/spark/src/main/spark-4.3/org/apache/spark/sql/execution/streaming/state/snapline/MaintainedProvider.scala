package org.apache.spark.sql.execution.streaming.state
package snapline

/** A provider whose maintenance is one thing, under the names that this release line of Spark calls. Spark calls the whole when a task unloads the store. Otherwise it calls snapshots and clean-up apart, from two pools of threads, never two at a time for one store. Snapshots have threads of our own.
  */
trait MaintainedProvider extends StateStoreProvider {
  protected def maintain(): Unit

  override def doMaintenance(): Unit = maintain()

  override def doCleanupMaintenance(): Unit = maintain()
}
