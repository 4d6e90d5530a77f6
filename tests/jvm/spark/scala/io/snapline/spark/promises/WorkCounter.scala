package io.snapline.spark.promises

import java.util.concurrent.atomic.AtomicInteger

import org.apache.spark.scheduler._

/** Counts what a Spark does. */
private[promises] final class WorkCounter extends SparkListener {
  private val jobs = new AtomicInteger
  private val stages = new AtomicInteger
  private val tasks = new AtomicInteger

  override def onJobStart(job: SparkListenerJobStart): Unit = jobs.incrementAndGet(): Unit
  override def onStageCompleted(stage: SparkListenerStageCompleted): Unit = stages.incrementAndGet(): Unit
  override def onTaskEnd(task: SparkListenerTaskEnd): Unit = tasks.incrementAndGet(): Unit

  override def toString: String = s"$jobs jobs, $stages stages, $tasks tasks"
}
