package org.apache.spark.sql.execution.streaming
package snapline

import org.apache.hadoop.conf.Configuration

import org.apache.spark.sql.SparkSession

/** What only Spark's own packages may ask a session. */
object SessionInternals {
  def hadoopConfiguration(session: SparkSession): Configuration = session.sessionState.newHadoopConf()
}
