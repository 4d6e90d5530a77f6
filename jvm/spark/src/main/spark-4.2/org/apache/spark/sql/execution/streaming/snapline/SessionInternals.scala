package org.apache.spark.sql.execution.streaming
package snapline

import org.apache.hadoop.conf.Configuration

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.classic.ClassicConversions._

/** What only Spark's own packages may ask a session. */
object SessionInternals {
  def hadoopConfiguration(session: SparkSession): Configuration = session.sessionState.newHadoopConf()
}
