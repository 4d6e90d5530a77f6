package io.snapline.spark.coordinator

import scala.collection.mutable

import io.snapline.spark.protocol.FirstRun

/** On the driver: knows for one query the task that was the first to run each partition in the newest micro-batch. Any
  * thread.
  */
private[spark] final class FirstRunBoard {
  private var run = ""
  private var newest = -1L
  private val tasks = mutable.Map.empty[(Long, Int), Long]

  /** Whether no other task has asked before. A task may ask again, for its answer may have been lost. Tasks of older
    * micro-batches, which Spark has abandoned, are not the first.
    */
  def isFirst(asked: FirstRun): Boolean = synchronized {
    if (asked.run != run || asked.batch > newest) {
      tasks.clear()
      run = asked.run
      newest = asked.batch
    }
    asked.batch == newest && tasks.getOrElseUpdate((asked.operator, asked.partition), asked.task) == asked.task
  }
}
