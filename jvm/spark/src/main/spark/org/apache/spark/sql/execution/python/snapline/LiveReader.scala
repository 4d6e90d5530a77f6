package org.apache.spark.sql.execution.python.snapline

import io.snapline.spark.operator.task.LiveRows
import io.snapline.spark.settings.WorkerLimits

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.types.StructType

/** Takes the rows of a real-time micro-batch as they come. In a thread of its own, because Spark's iterator waits for
  * them and the task's thread has the worker to look after.
  */
private[snapline] object LiveReader {

  /** The thread ends before the task does. */
  def start(
      source: Iterator[InternalRow],
      schema: StructType,
      limits: WorkerLimits,
      context: TaskContext
  ): LiveRows = {
    val rows = new LiveRows(limits.chunkRows, limits.chunkBytes)
    val thread = new Thread(s"snapline-live-rows-${context.taskAttemptId()}") {
      setDaemon(true)

      override def run(): Unit = {
        TaskContext.setTaskContext(context)
        try {
          val toRaw = UnsafeProjection.create(schema)
          source.foreach {
            case raw: UnsafeRow => rows.put(raw.copy())
            case other => rows.put(toRaw(other).copy())
          }
          rows.end(null)
        } catch {
          case _: InterruptedException if context.isCompleted() => ()
          case e: Throwable => rows.end(e)
        } finally TaskContext.unset()
      }
    }
    context.addTaskCompletionListener[Unit] { _ =>
      thread.interrupt()
      thread.join(LongestEndMillis)
    }
    thread.start()
    rows
  }

  private val LongestEndMillis = 10000L
}
