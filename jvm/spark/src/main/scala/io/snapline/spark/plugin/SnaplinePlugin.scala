package io.snapline.spark.plugin

import java.util.{Collections, Map => JavaMap}

import org.apache.spark.SparkContext
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, PluginContext, SparkPlugin}

import io.snapline.checkpoint.{Acknowledgement, Decline}
import io.snapline.spark.SparkLineCheck
import io.snapline.spark.ui.CheckpointsUi

/** Carries acknowledgements of checkpoints from executors to the driver, and state that is kept in its memory: add this class to `spark.plugins`. */
class SnaplinePlugin extends SparkPlugin {

  SparkLineCheck.run()

  override def driverPlugin(): DriverPlugin = new DriverPlugin {
    private val memory = new DriverMemory
    private val broadcasts = new BroadcastBoard

    override def init(context: SparkContext, plugin: PluginContext): JavaMap[String, String] = {
      Checkpointing.open(plugin, () => CheckpointsUi.open(context))
      Collections.emptyMap()
    }

    override def registerMetrics(appId: String, plugin: PluginContext): Unit =
      new CheckpointMetrics(() => Checkpointing.histories, () => memory.used).register(plugin.metricRegistry())

    /** On Spark's one dispatcher thread: whatever takes time is put off. Answers whether the store may build its next snapshot on this one. */
    override def receive(message: AnyRef): AnyRef = message match {
      case ack: Acknowledgement => Boolean.box(Checkpointing.acknowledged(ack))
      case decline: Decline =>
        Checkpointing.declined(decline)
        java.lang.Boolean.FALSE
      case report: HoldersReport => Checkpointing.held(report).map(_.text).toArray
      case asked: DriverMessage => memory.answer(asked)
      case report: BroadcastReport => broadcasts.take(report)
      case _ => java.lang.Boolean.FALSE
    }

    override def shutdown(): Unit = {
      Checkpointing.close()
      memory.clear()
    }
  }

  override def executorPlugin(): ExecutorPlugin = new ExecutorPlugin {
    override def init(plugin: PluginContext, extra: JavaMap[String, String]): Unit = ExecutorLink.open(plugin)
    override def shutdown(): Unit = ExecutorLink.close()
  }
}
