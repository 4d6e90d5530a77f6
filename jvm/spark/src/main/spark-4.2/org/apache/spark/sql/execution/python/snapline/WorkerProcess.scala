package org.apache.spark.sql.execution.python.snapline

/** What Spark knows a Python worker's process by. */
private[snapline] object WorkerProcess {
  type Handle = Int
}
