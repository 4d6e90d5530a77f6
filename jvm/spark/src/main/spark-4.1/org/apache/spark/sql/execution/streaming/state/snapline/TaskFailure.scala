package org.apache.spark.sql.execution.streaming.state
package snapline

import org.apache.spark.{SparkException, TaskContext}

object TaskFailure {

  /** That a task has failed, if it has: this line does not say why. */
  def of(task: TaskContext): Option[Throwable] =
    if (task.isFailed()) Some(new SparkException("The task has failed already.")) else None
}
