package io.snapline.spark.protocol

import io.snapline.error.{InternalError, StorageFailure}

/** A task is about to run a partition of a micro-batch, and asks whether it is the first one to do so.
  *
  * @param run
  *   run id of the query
  * @param task
  *   id of the task, which no other attempt has
  */
final case class FirstRun(run: String, operator: Long, batch: Long, partition: Int, task: Long)

/** On executors: has the driver say whether a task is the first to run its partition in a micro-batch. Executors cannot
  * know: a second action of `foreachBatch` may run the partition on another one, as a first attempt.
  */
object FirstRuns {

  def isFirst(asked: FirstRun): Boolean = {
    val answer = ExecutorLink.ask(asked, "A micro-batch cannot be cut") { (attempts, e) =>
      new StorageFailure(
        s"The driver did not say in $attempts attempts whether partition ${asked.partition} runs for the first time: ${e.getMessage}.",
        "see to the network; Spark tries the task again.",
        e
      )
    }
    answer match {
      case first: java.lang.Boolean => first.booleanValue
      case other => throw new InternalError(s"The driver was asked for a first run, and answered: $other.")
    }
  }
}
