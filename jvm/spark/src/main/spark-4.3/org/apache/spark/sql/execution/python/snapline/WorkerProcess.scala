package org.apache.spark.sql.execution.python.snapline

import org.apache.spark.api.python.PythonWorkerHandle

/** A Python worker's process. */
private[snapline] final class WorkerProcess(process: PythonWorkerHandle) {
  def isAlive: Boolean = process.isAlive()
  def destroy(): Unit = process.destroy(): Unit
}

private[snapline] object WorkerProcess {

  /** Spark's handle of it. */
  type Handle = PythonWorkerHandle

  def of(handle: Handle): Option[WorkerProcess] = Some(new WorkerProcess(handle))
}
