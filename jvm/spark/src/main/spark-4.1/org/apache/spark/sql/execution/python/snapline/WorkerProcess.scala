package org.apache.spark.sql.execution.python.snapline

import scala.jdk.OptionConverters._

/** A Python worker's process. */
private[snapline] final class WorkerProcess(process: ProcessHandle) {
  def isAlive: Boolean = process.isAlive
  def destroy(): Unit = process.destroyForcibly(): Unit
}

private[snapline] object WorkerProcess {

  /** Spark's handle of it. */
  type Handle = Int

  /** Found while it is known to run: later the number may be another process's. */
  def of(handle: Handle): Option[WorkerProcess] = ProcessHandle.of(handle.toLong).toScala.map(new WorkerProcess(_))
}
