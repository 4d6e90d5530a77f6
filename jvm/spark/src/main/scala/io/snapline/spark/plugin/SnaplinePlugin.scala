package io.snapline.spark.plugin

import java.util.{Collections, Map => JavaMap}

import org.apache.spark.SparkContext
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, PluginContext, SparkPlugin}
import org.slf4j.LoggerFactory

import io.snapline.checkpoint.{Acknowledgement, Decline}
import io.snapline.error.InternalError
import io.snapline.spark.coordinator.{
  BroadcastBoard,
  CheckpointMetrics,
  Checkpointing,
  DriverMemory,
  LiveExecutors
}
import io.snapline.spark.protocol.{BroadcastReport, DriverMessage, ExecutorLink, FirstRun, HoldersReport, MessageCheck}
import io.snapline.spark.provider.OpenStates
import io.snapline.spark.settings.SparkLineCheck
import io.snapline.spark.ui.CheckpointsUi

/** Carries acknowledgements of checkpoints from executors to the driver, and state that is kept in its memory: add this
  * class to `spark.plugins`.
  */
class SnaplinePlugin extends SparkPlugin {

  SparkLineCheck.run()

  override def driverPlugin(): DriverPlugin = new DriverPlugin {
    private val memory = new DriverMemory
    private val broadcasts = new BroadcastBoard
    private val log = LoggerFactory.getLogger(classOf[SnaplinePlugin])

    override def init(context: SparkContext, plugin: PluginContext): JavaMap[String, String] = {
      val executors = new LiveExecutors
      context.addSparkListener(executors)
      Checkpointing.open(plugin, executors, () => CheckpointsUi.open(context))
      Collections.emptyMap()
    }

    override def registerMetrics(appId: String, plugin: PluginContext): Unit =
      new CheckpointMetrics(() => Checkpointing.histories, () => memory.used).register(plugin.metricRegistry())

    /** On Spark's one dispatcher thread: whatever takes time is put off. Answers an acknowledgement with whether the
      * store may build its next snapshot on this one.
      */
    override def receive(message: AnyRef): AnyRef = MessageCheck.refusal(message) match {
      case Some(what) =>
        log.warn(s"A message is refused that no executor of this version sends: its $what is not what it may be.")
        // Every other request takes a text as the reason why it has no answer.
        if (message.isInstanceOf[Acknowledgement]) java.lang.Boolean.FALSE else s"the driver refuses the message: $what"
      case None => answer(message)
    }

    private def answer(message: AnyRef): AnyRef = message match {
      case ack: Acknowledgement => Boolean.box(Checkpointing.acknowledged(ack))
      case decline: Decline =>
        Checkpointing.declined(decline)
        java.lang.Boolean.FALSE
      case report: HoldersReport => Checkpointing.held(report).map(_.text).toArray
      case asked: DriverMessage => memory.answer(asked)
      case report: BroadcastReport => broadcasts.take(report)
      case asked: FirstRun => Boolean.box(Checkpointing.isFirst(asked))
      case other => throw new InternalError(s"$other passed the check of messages.")
    }

    override def shutdown(): Unit = {
      Checkpointing.close()
      memory.clear()
    }
  }

  override def executorPlugin(): ExecutorPlugin = new ExecutorPlugin {
    override def init(plugin: PluginContext, extra: JavaMap[String, String]): Unit = ExecutorLink.open(plugin)
    override def shutdown(): Unit = {
      ExecutorLink.close()
      OpenStates.here.clear()
    }
  }
}
