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

  // This line never asks for a snapshot at a commit, and for an empty store only before the first version.

  def getStore(version: Long, id: Option[String], forceSnapshotOnCommit: Boolean, loadEmpty: Boolean): StateStore

  override def getStore(version: Long, id: Option[String] = None): StateStore =
    getStore(version, id, forceSnapshotOnCommit = false, loadEmpty = false)

  def upgradeReadStoreToWriteStore(
      readStore: ReadStateStore,
      version: Long,
      id: Option[String],
      forceSnapshotOnCommit: Boolean
  ): StateStore

  override def upgradeReadStoreToWriteStore(
      readStore: ReadStateStore,
      version: Long,
      id: Option[String] = None
  ): StateStore = upgradeReadStoreToWriteStore(readStore, version, id, forceSnapshotOnCommit = false)
}
