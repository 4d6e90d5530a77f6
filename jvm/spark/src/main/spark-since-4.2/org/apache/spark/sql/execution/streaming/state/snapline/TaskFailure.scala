package org.apache.spark.sql.execution.streaming.state
package snapline

import org.apache.spark.TaskContext

object TaskFailure {

  /** Why a task has failed, if it has. */
  def of(task: TaskContext): Option[Throwable] = task.getTaskFailure
}
