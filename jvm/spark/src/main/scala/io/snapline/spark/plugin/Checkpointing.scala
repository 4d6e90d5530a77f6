package io.snapline.spark.plugin

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.SparkContext
import org.apache.spark.api.plugin.PluginContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.snapline.SessionInternals

import io.snapline.checkpoint.{Acknowledgement, CoordinatorSettings, Decline, RetentionPolicy}
import io.snapline.error.InvalidConfiguration
import io.snapline.keygroup.KeyGroups
import io.snapline.spark.provider.ProviderSettings

/** The coordinators of this driver, one for each query that was started with one. Any thread. */
object Checkpointing {
  private val drivers = new ConcurrentHashMap[String, CheckpointDriver]
  @volatile private var plugin: PluginContext = _

  private[plugin] def open(context: PluginContext): Unit = plugin = context

  private[plugin] def close(): Unit = {
    plugin = null
    drivers.values.asScala.toSeq.foreach(_.close())
    drivers.clear()
  }

  /** False for all sessions without `snapline.start`: their plans are not looked at. */
  def isActive: Boolean = !drivers.isEmpty

  /** Registers the query that is about to start on this checkpoint folder. Whoever calls closes it when the query has ended for good.
    *
    * @param intervalMs
    *   below zero: every batch is durable by itself, and checkpoints are taken when somebody asks, and at the first barrier of a run
    */
  def start(
      session: SparkSession,
      folder: String,
      intervalMs: Long,
      timeoutMs: Long,
      minPauseMs: Long,
      maxConcurrent: Int,
      tolerableFailures: Int,
      retained: Int,
      retention: String
  ): CheckpointDriver = {
    if (plugin == null) {
      throw new InvalidConfiguration(
        "Executors cannot acknowledge checkpoints: spark.plugins does not name io.snapline.spark.plugin.SnaplinePlugin.",
        "make the session with snapline.configure(), or add the class to spark.plugins before Spark starts."
      )
    }
    val configuration = SessionInternals.hadoopConfiguration(session)
    val path = qualified(folder, configuration)
    val settings = CoordinatorSettings(
      Some(if (intervalMs < 0) Long.MaxValue else intervalMs),
      timeoutMs,
      minPauseMs,
      maxConcurrent,
      tolerableFailures,
      retained,
      RetentionPolicy.named(retention)
    )
    val driver = new CheckpointDriver(
      new CheckpointFolder(path, configuration),
      settings,
      durableBatches = intervalMs < 0,
      configuration.getInt(ProviderSettings.MaxParallelism, KeyGroups.DefaultMaxParallelism),
      new SparkLogs(session, path),
      ended => {
        drivers.remove(path.toString, ended)
        session.streams.removeListener(ended.listener)
      }
    )
    if (drivers.putIfAbsent(path.toString, driver) != null) {
      driver.close()
      throw new InvalidConfiguration(
        s"A query on $path is running under a coordinator already.",
        "stop it first, or give this query a checkpoint folder of its own."
      )
    }
    session.streams.addListener(driver.listener)
    driver
  }

  private def qualified(folder: String, configuration: Configuration): Path = {
    val path = new Path(folder)
    path.getFileSystem(configuration).makeQualified(path)
  }

  /** Called on the stream's thread; what it sets reaches the tasks of this batch. */
  def planned(batch: PlannedBatch, context: SparkContext): Unit = {
    val driver = drivers.get(new Path(batch.stateFolder).getParent.toString)
    if (driver != null) context.setLocalProperty(TaskBarrier.Property, driver.planned(batch).text)
  }

  /** Whether the store may build its next snapshot on this one. */
  private[plugin] def acknowledged(ack: Acknowledgement): Boolean =
    drivers.values.asScala.toSeq.map(_.acknowledged(ack)).contains(true)

  private[plugin] def declined(decline: Decline): Unit = drivers.values.asScala.foreach(_.declined(decline))
}
