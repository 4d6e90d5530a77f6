package org.apache.spark.sql.execution.python.snapline

import java.util.concurrent.TimeUnit

import org.apache.spark.TaskContext
import org.apache.spark.api.python.PythonWorker

/** Ends a worker that its task leaves in the middle. The function of an attempt that is over must not run beside that
  * of the next. In a loop of its own it would never see that nobody listens any more.
  *
  * @param patienceMs
  *   milliseconds for a worker to end by itself once its connection is closed
  */
private[snapline] final class WorkerEnd(worker: PythonWorker, process: Option[WorkerProcess], patienceMs: Long) {

  /** After a failure or a kill another attempt may begin as soon as this one has ended, which therefore waits. A task
    * whose rows nobody wants any more does not.
    */
  def of(context: TaskContext): Unit = {
    worker.stop()
    process.foreach { process =>
      if (context.isInterrupted() || context.isFailed()) end(process)
      else if (process.isAlive) {
        val thread = new Thread(() => end(process), "Snapline end of a Python worker")
        thread.setDaemon(true)
        thread.start()
      }
    }
  }

  private def end(process: WorkerProcess): Unit = {
    val deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(patienceMs)
    // A task that is killed is interrupted, and may be again.
    var interrupted = Thread.interrupted()
    while (process.isAlive && System.nanoTime() < deadline)
      try Thread.sleep(WorkerEnd.PollMs)
      catch { case _: InterruptedException => interrupted = true }
    if (process.isAlive) process.destroy()
    if (interrupted) Thread.currentThread().interrupt()
  }
}

private[snapline] object WorkerEnd {
  private val PollMs = 10L
}
