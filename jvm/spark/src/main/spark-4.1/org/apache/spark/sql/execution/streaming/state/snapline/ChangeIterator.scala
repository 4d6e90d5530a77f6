package org.apache.spark.sql.execution.streaming.state
package snapline

import scala.annotation.unused

/** The rows of a change feed: (kind of change, key, value or null, batch id).
  *
  * The base class is the one that Spark's RocksDB provider returns. Nothing of it is used: it looks for Spark's own
  * changelogs when it is asked for one.
  */
abstract class ChangeIterator(
    @unused id: StateStoreId,
    startVersion: Long,
    endVersion: Long,
    @unused conf: StateStoreConf
) extends StateStoreChangeDataReader(null, null, startVersion, endVersion, null) {
  override protected val changelogSuffix: String = "none"
}
