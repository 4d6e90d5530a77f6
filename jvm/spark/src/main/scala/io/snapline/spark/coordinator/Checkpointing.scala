package io.snapline.spark.coordinator

import java.io.FileNotFoundException
import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.spark.api.plugin.PluginContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.snapline.SessionInternals

import io.snapline.checkpoint._
import io.snapline.checkpoint.history.CheckpointHistory
import io.snapline.error.InvalidConfiguration
import io.snapline.spark.protocol.{CheckpointFolder, FirstRun, HolderOrder, HoldersReport, TaskBarrier}
import io.snapline.spark.provider.{BackendSettings, ProviderSettings, StartCheck}

/** The coordinators of this driver, one for each query that was started with one. Any thread. */
object Checkpointing {
  private val drivers = new ConcurrentHashMap[String, CheckpointDriver]
  @volatile private var plugin: PluginContext = _
  @volatile private var rebalancing = new Rebalancing(new LiveExecutors)
  private var makeObservers: () => CheckpointObservers = _
  private var observers: Option[CheckpointObservers] = None

  /** As the Python package names it. */
  private val IntervalMark = "snapline/interval"
  private val UnalignedMark = s"${CheckpointFolder.Own}/${CheckpointFolder.UnalignedMark}"

  /** @param executors
    *   those of the application
    * @param makeObservers
    *   called when the first query is started: an application without checkpoints pays for nothing
    */
  private[spark] def open(
      plugin: PluginContext,
      executors: LiveExecutors,
      makeObservers: () => CheckpointObservers
  ): Unit = synchronized {
    this.plugin = plugin
    rebalancing = new Rebalancing(executors)
    this.makeObservers = makeObservers
  }

  private[spark] def close(): Unit = {
    plugin = null
    drivers.values.asScala.toSeq.foreach(_.close())
    drivers.clear()
    synchronized {
      observers.foreach(_.close())
      observers = None
      makeObservers = null
    }
  }

  private def openedObservers(): CheckpointObservers = synchronized {
    val opened = observers.getOrElse(makeObservers())
    observers = Some(opened)
    opened
  }

  private[spark] def histories: Seq[CheckpointHistory.Snapshot] = drivers.values.asScala.toSeq.map(_.snapshot)

  /** Registers the query that is about to start on this checkpoint folder. The caller closes the driver when the query
    * has ended for good.
    *
    * @param spec
    *   JSON: `CheckpointSpec`
    */
  def start(session: SparkSession, folder: String, spec: String): CheckpointDriver =
    start(session, folder, CheckpointSpec.parse(spec))

  private[spark] def start(session: SparkSession, folder: String, spec: CheckpointSpec): CheckpointDriver = {
    if (plugin == null) {
      throw new InvalidConfiguration(
        "Executors cannot acknowledge checkpoints: spark.plugins does not name io.snapline.spark.plugin.SnaplinePlugin.",
        "make the session with snapline.configure(), or add the class to spark.plugins before Spark starts."
      )
    }
    val configuration = SessionInternals.hadoopConfiguration(session)
    val inMemory = BackendSettings.read(ProviderSettings.set(configuration)).driverMemory
    if (inMemory && !spec.durableBatches) {
      throw new InvalidConfiguration(
        s"State is kept in the driver's memory (${BackendSettings.Storage}), and checkpoints at an interval are to outlive it.",
        s"set ${BackendSettings.Storage} to filesystem, or leave the interval out."
      )
    }
    val path = qualified(folder, configuration)
    StartCheck.run(path, SessionInternals.storeConf(session), configuration)
    def nameOf(run: UUID): Option[String] = session.streams.active.find(_.runId == run).flatMap(q => Option(q.name))
    val observer =
      openedObservers().observer(path.toString, spec.coordinatorSettings, spec.durableBatches, nameOf)
    val driver = new CheckpointDriver(
      new CheckpointFolder(path, configuration),
      spec,
      inMemory,
      ProviderSettings.maxParallelism(configuration),
      new SparkLogs(session, path),
      observer,
      ClaimHolder.here(session.sparkContext.applicationId),
      drivenQuery(session, path)
    )
    if (drivers.putIfAbsent(path.toString, driver) != null) {
      driver.close()
      throw new InvalidConfiguration(
        s"A query on $path is running under a coordinator already.",
        "stop it first, or give this query a checkpoint folder of its own."
      )
    }
    observer.started()
    driver.open()
    session.streams.addListener(driver.listener)
    driver
  }

  private def drivenQuery(session: SparkSession, path: Path): DrivenQuery = new DrivenQuery {
    override def stop(run: UUID): Unit = SessionInternals.running(session, run).foreach(_.stop())

    override def closed(driver: CheckpointDriver): Unit = {
      drivers.remove(path.toString, driver)
      session.streams.removeListener(driver.listener)
    }
  }

  private def qualified(folder: String, configuration: Configuration): Path = {
    val path = new Path(folder)
    path.getFileSystem(configuration).makeQualified(path)
  }

  /** Called on the stream's thread; what it sets reaches the tasks of this batch. */
  def planned(batch: PlannedBatch, session: SparkSession): Unit = {
    val root = new Path(batch.stateFolder).getParent
    val driver = drivers.get(root.toString)
    val barrier = Option(driver).map(_.planned(batch))
    barrier.foreach(of => session.sparkContext.setLocalProperty(TaskBarrier.Property, of.text))
    rebalancing.planned(batch, session, barrier)
  }

  /** A query is about to start on this checkpoint folder, and nothing is written yet. A plain start could plan batches
    * anew that the sink has. It could go on from missing state, or cut a batch at another place than the sink has seen.
    */
  def starting(root: Path, configuration: Configuration): Unit =
    if (!drivers.containsKey(root.toString)) refuseLagging(root, configuration)

  private def refuseLagging(root: Path, configuration: Configuration): Unit = {
    val files = root.getFileSystem(configuration)
    // Batches without stateful operators leave nothing behind that could lag.
    lazy val hasState = files.exists(new Path(root, "state")) || !hasCommits(files, root)
    def is(mark: String): Boolean = files.exists(new Path(root, mark)) && hasState
    if (is(IntervalMark)) {
      throw new InvalidConfiguration(
        s"The query on $root was last started with snapline.start() and checkpoints at an interval: its state in storage lags behind its logs.",
        "start it with snapline.start(writer, config); with interval=None it goes on as a query like any other, from then on."
      )
    }
    if (is(UnalignedMark)) {
      throw new InvalidConfiguration(
        s"The query on $root was last started with snapline.start() and unaligned checkpoints: rows may wait in its state.",
        "start it with snapline.start(writer, config); with unaligned=False it goes on as a query like any other, once nothing waits any more."
      )
    }
  }

  private def hasCommits(files: FileSystem, root: Path): Boolean =
    try files.listStatus(new Path(root, "commits")).exists(_.getPath.getName.toLongOption.isDefined)
    catch { case _: FileNotFoundException => false }

  /** Whether the store may build its next snapshot on this one. */
  private[spark] def acknowledged(ack: Acknowledgement): Boolean =
    drivers.values.asScala.toSeq.map(_.acknowledged(ack)).contains(true)

  /** The orders for an executor about the stores it holds. */
  private[spark] def held(report: HoldersReport): Seq[HolderOrder] = {
    val all = drivers.values.asScala.toSeq
    all.flatMap(_.held(report)) ++ report.runs.filterNot(run => all.exists(_.isRunning(run))).map(HolderOrder.Forget)
  }

  /** Whether a task is the first to run its partition in a micro-batch. No task of an unknown query is. */
  private[spark] def isFirst(asked: FirstRun): Boolean = drivers.values.asScala.exists(_.isFirst(asked))

  private[spark] def declined(decline: Decline): Unit = drivers.values.asScala.foreach(_.declined(decline))
}
