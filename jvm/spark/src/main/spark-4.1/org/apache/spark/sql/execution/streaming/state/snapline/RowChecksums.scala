package org.apache.spark.sql.execution.streaming.state
package snapline

import scala.annotation.unused

/** Checksums of rows, which this line of Spark does not have: there is none of this class. */
sealed trait RowChecksums {
  def add(key: Array[Byte], value: Array[Byte]): Array[Byte]

  def remove(key: => Array[Byte], value: Array[Byte]): Array[Byte]
}

object RowChecksums {
  def areOn(@unused conf: StateStoreConf): Boolean = false

  def of(@unused id: StateStoreId, @unused conf: StateStoreConf): Option[RowChecksums] = None
}
