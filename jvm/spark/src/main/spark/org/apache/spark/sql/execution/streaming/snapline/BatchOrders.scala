package org.apache.spark.sql.execution.streaming
package snapline

import java.util.concurrent.LinkedBlockingQueue

import org.apache.spark.sql.execution.streaming.runtime.{MicroBatchExecutionContext, TriggerExecutor}

/** Runs a batch of a query when one is ordered, and waits for the next order. `run` and `end` from any thread.
  *
  * @param construct
  *   takes from the logs what a batch is that follows another one of the same run
  */
private[snapline] final class BatchOrders(construct: MicroBatchExecutionContext => Unit) extends TriggerExecutor {
  private val ordered = new LinkedBlockingQueue[Long]
  private val outcomes = new LinkedBlockingQueue[Boolean]

  /** The query's thread only. */
  private var next: MicroBatchExecutionContext = _

  /** Waits until this batch has run; false: the query has ended before. */
  def run(batch: Long): Boolean = {
    ordered.put(batch)
    val hasRun = outcomes.take()
    // For the next order as well.
    if (!hasRun) end()
    hasRun
  }

  /** The query's thread runs no further batch. */
  def end(): Unit = outcomes.put(false)

  override def setNextBatch(batch: MicroBatchExecutionContext): Unit = {
    super.setNextBatch(batch)
    next = batch
  }

  override def execute(runBatch: MicroBatchExecutionContext => Boolean): Unit = {
    var goesOn = true
    while (goesOn) {
      val batch = ordered.take()
      if (!next.isCurrentBatchConstructed) construct(next)
      if (!next.isCurrentBatchConstructed || next.batchId != batch)
        throw new IllegalStateException(
          s"Batch $batch is to be run again, and the logs say that ${next.batchId} is next."
        )
      goesOn = runOneBatch(runBatch)
      outcomes.put(true)
    }
  }
}
