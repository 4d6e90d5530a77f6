package io.snapline.bench

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.LongAdder

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerStageSubmitted, SparkListenerTaskEnd}

/** How long tasks held a core, summed over those that read input and those behind a shuffle: what of a batch's time
  * more cores would divide.
  */
object TaskTimes extends SparkListener {
  private val behindShuffle = ConcurrentHashMap.newKeySet[Int]()
  private val millis = Array.fill(2)(new LongAdder)
  private val ended = new LongAdder

  def install(context: SparkContext): Unit = context.addSparkListener(this)

  override def onStageSubmitted(event: SparkListenerStageSubmitted): Unit =
    if (event.stageInfo.parentIds.nonEmpty) behindShuffle.add(event.stageInfo.stageId)

  override def onTaskEnd(event: SparkListenerTaskEnd): Unit = {
    millis(if (behindShuffle.contains(event.stageId)) 1 else 0).add(event.taskInfo.duration)
    ended.increment()
  }

  /** Events come some time after the batch has ended: whoever asks knows how many there must be. */
  def count(): Long = ended.sum()

  /** Those of input, and those behind a shuffle, since the last call. */
  def take(): Array[Long] = {
    ended.reset()
    millis.map(_.sumThenReset())
  }
}
