package org.apache.spark.sql.execution.streaming.state
package snapline

import scala.annotation.unused

/** A provider whose maintenance is one thing, under the name that this release line of Spark calls.
  *
  * @param checked
  *   evaluated before any constructor of Spark's runs, which may be those of another release line
  */
abstract class ProviderBase(@unused checked: Unit) extends StateStoreProvider with SupportsFineGrainedReplay {
  protected def maintain(): Unit

  override def doMaintenance(): Unit = maintain()
}
