package org.apache.spark.sql.execution.python.snapline

import org.apache.spark.api.python.PythonWorkerHandle

/** What Spark knows a Python worker's process by. */
private[snapline] object WorkerProcess {
  type Handle = PythonWorkerHandle
}
