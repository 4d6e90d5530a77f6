package io.snapline.spark.plugin

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.SparkContext
import org.apache.spark.api.plugin.PluginContext
import org.apache.spark.sql.SparkSession

import io.snapline.checkpoint.{Acknowledgement, CoordinatorSettings, Decline}
import io.snapline.error.InvalidConfiguration

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
    * @param settings
    *   names as in docs/settings.md, without their prefix
    */
  def start(session: SparkSession, folder: String, settings: java.util.Map[String, String]): CheckpointDriver = {
    if (plugin == null) {
      throw new InvalidConfiguration(
        "Executors cannot acknowledge checkpoints: spark.plugins does not name io.snapline.spark.plugin.SnaplinePlugin.",
        "make the session with snapline.configure(), or add the class to spark.plugins before Spark starts."
      )
    }
    val configuration = session.sessionState.newHadoopConf()
    val path = qualified(folder, session)
    val driver = new CheckpointDriver(
      new CheckpointFolder(path, configuration),
      CheckpointSettings.read(settings.asScala.toMap),
      new SparkLogs(session, path),
      ended => drivers.remove(path.toString, ended): Unit
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

  private def qualified(folder: String, session: SparkSession): Path = {
    val path = new Path(folder)
    path.getFileSystem(session.sessionState.newHadoopConf()).makeQualified(path)
  }

  /** Called on the stream's thread; what it sets reaches the tasks of this batch. */
  def planned(batch: PlannedBatch, context: SparkContext): Unit = {
    val driver = drivers.get(new Path(batch.stateFolder).getParent.toString)
    if (driver != null) context.setLocalProperty(Barrier.Property, driver.planned(batch).text)
  }

  private[plugin] def acknowledged(ack: Acknowledgement): Unit = drivers.values.asScala.foreach(_.acknowledged(ack))

  private[plugin] def declined(decline: Decline): Unit = drivers.values.asScala.foreach(_.declined(decline))
}
