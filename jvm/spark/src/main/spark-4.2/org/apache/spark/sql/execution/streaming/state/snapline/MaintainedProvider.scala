package org.apache.spark.sql.execution.streaming.state
package snapline

/** A provider whose maintenance is one thing, under the name that this release line of Spark calls. */
trait MaintainedProvider extends StateStoreProvider {
  protected def maintain(): Unit

  override def doMaintenance(): Unit = maintain()
}
