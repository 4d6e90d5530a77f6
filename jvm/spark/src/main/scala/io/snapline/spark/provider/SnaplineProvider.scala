package io.snapline.spark.provider

import java.util.UUID

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.spark.TaskContext
import org.apache.spark.sql.execution.streaming.state.snapline.{ChangeIterator, ProviderBase, StateInternals}
import org.apache.spark.sql.types.StructType
import org.slf4j.LoggerFactory

import org.apache.spark.sql.execution.streaming.state._

import io.snapline.error.{InvalidConfiguration, StateNotFound}
import io.snapline.snapshot.format.VersionRef
import io.snapline.snapshot.store.{LeftOpen, OpenState, VersionedState}
import io.snapline.snapshot.upload.{OwedCheckpoint, SnapshotListener}
import io.snapline.spark.protocol._
import io.snapline.spark.settings.SparkLineCheck

/** The store of one partition of one stateful operator. Queries name its subclass, [[SnaplineProvider.ClassName]].
  *
  * Owns a [[VersionedState]] and, through a stamp of Spark's state machine, sees to it that one task at a time uses it.
  * Made by Spark, closed by Spark's maintenance.
  */
class SnaplineProvider extends ProviderBase(SparkLineCheck.run()) with SnapshotSource with StateOwner {
  private val logger = LoggerFactory.getLogger(classOf[SnaplineProvider])

  private var id: StateStoreId = _
  private var conf: StateStoreConf = _
  private var configuration: Configuration = _
  private var runId: UUID = _
  private var useColumnFamilies = false
  private var timeIndex = false
  private var validation: RowValidation = _
  private[spark] var families: StateFamilies = _
  private[spark] var state: VersionedState = _
  private[spark] var stamps: RocksDBStateMachine = _
  private var location: StateLocation = _
  private var restorePoint: Option[RestorePoint] = None

  /** The id by which Spark knows the state that was loaded last, if that is not its own id. */
  private var knownAs: Option[String] = None

  private var wasLoaded = false

  /** Whether its state was released. Spark does not know, and may still maintain it. */
  @volatile private var isGone = false

  override def init(
      stateStoreId: StateStoreId,
      keySchema: StructType,
      valueSchema: StructType,
      keyStateEncoderSpec: KeyStateEncoderSpec,
      useColumnFamilies: Boolean,
      storeConfs: StateStoreConf,
      hadoopConf: Configuration,
      useMultipleValuesPerKey: Boolean,
      stateSchemaProvider: Option[StateSchemaProvider]
  ): Unit = {
    if (useMultipleValuesPerKey && !useColumnFamilies) {
      throw new InvalidConfiguration(
        "An operator asks for several values per key without column families.",
        "nothing: no operator of Spark does."
      )
    }
    val settings = ProviderSettings.read(storeConfs, hadoopConf)
    id = stateStoreId
    conf = storeConfs
    configuration = hadoopConf
    runId = StateInternals.runId(hadoopConf)
    this.useColumnFamilies = useColumnFamilies
    timeIndex = settings.timeIndex
    validation = new RowValidation(keySchema, valueSchema, id, conf, on = !useColumnFamilies)
    stamps = StateInternals.stateMachine(id, conf)
    families = new StateFamilies(id, runId, conf, settings.maxParallelism, stateSchemaProvider)
    families.declare(
      StateStore.DEFAULT_COL_FAMILY_NAME,
      keySchema,
      valueSchema,
      keyStateEncoderSpec,
      useMultipleValuesPerKey,
      internal = false
    ): Unit
    location = new StateLocation(id, runId, conf, hadoopConf, settings)
    state = location.open(version => reportSnapshot(version))
  }

  override def stateStoreId: StateStoreId = id

  private def reportSnapshot(version: Long): Unit =
    if (conf.reportSnapshotUploadLag) StateInternals.reportSnapshot(id, runId, version)

  // ---- stores

  override def getStore(version: Long, ckptId: Option[String], forceSnapshot: Boolean, loadEmpty: Boolean): StateStore =
    open(version, readOnly = false, forceSnapshot)(load(_, version, ckptId, loadEmpty))

  override def getReadStore(version: Long, ckptId: Option[String]): StateStore =
    open(version, readOnly = true, forceSnapshot = false)(load(_, version, ckptId))

  override def upgradeReadStoreToWriteStore(
      readStore: ReadStateStore,
      version: Long,
      ckptId: Option[String],
      forceSnapshot: Boolean
  ): StateStore = readStore match {
    // Spark knows of one read store in a thread: it may be that of another operator before this one in the stage.
    case store: SnaplineStateStore if store.id != id => getStore(version, ckptId, forceSnapshot, loadEmpty = false)
    case store: SnaplineStateStore if (store.provider ne this) =>
      // This provider replaced the one that lent the read store, which still holds it.
      store.provider.upgradeReadStoreToWriteStore(readStore, version, ckptId, forceSnapshot)
    case store: SnaplineStateStore =>
      require(store.version == version, s"The read store has version ${store.version}; $version is wanted.")
      require(store.readOnly, "The store is open for writing already.")
      stamps.verifyStamp(store.stamp)
      loading(version)(load(TaskBarrier.ofTask(runId), version, ckptId))
      store.upgrade(forceSnapshot)
      store
    case other => throw new IllegalArgumentException(s"$other is no store of this provider.")
  }

  override def replayStateFromSnapshot(
      snapshotVersion: Long,
      endVersion: Long,
      readOnly: Boolean,
      snapshotId: Option[String],
      endId: Option[String]
  ): StateStore = {
    if (snapshotVersion < 1) throw StateInternals.cannotLoad(StateInternals.unexpectedVersion(snapshotVersion))
    if (endVersion < snapshotVersion) throw StateInternals.cannotLoad(StateInternals.unexpectedVersion(endVersion))
    open(endVersion, readOnly, forceSnapshot = false) { _ =>
      try state.loadFrom(snapshotVersion, snapshotId, endVersion, endId)
      catch { case e: StateNotFound => throw StateInternals.cannotLoad(e) }
    }
  }

  override def getStateStoreChangeDataReader(
      startVersion: Long,
      endVersion: Long,
      family: Option[String],
      endId: Option[String]
  ): ChangeIterator = {
    val name = family.getOrElse(StateStore.DEFAULT_COL_FAMILY_NAME)
    val codec =
      families.declared(name).getOrElse(throw StateStoreErrors.unsupportedOperationOnMissingColumnFamily(
        "changes",
        name
      ))
    new ChangeDataReader(id, conf, location.storage, codec, startVersion, endVersion, endId)
  }

  /** Holds a stamp while it loads; whoever gets the store gives it back. */
  private def open(version: Long, readOnly: Boolean, forceSnapshot: Boolean)(
      load: Option[TaskBarrier] => Unit
  ): StateStore = {
    if (version < 0) throw StateInternals.unexpectedVersion(version)
    val barrier = TaskBarrier.ofTask(runId)
    val stamp = stamps.acquireStamp()
    try {
      state.closeScans()
      loading(version)(load(barrier))
      val taken = barrier.fold(CheckpointPart.Empty)(part(_, version))
      val use = StoreUse(version, stamp, readOnly, forceSnapshot, knownAs, taken)
      val store = new SnaplineStateStore(this, use, useColumnFamilies, conf, configuration, validation)
      if (timeIndex) store.evictWith(Evictor.ofTask(runId, id, version, families))
      barrier.filter(b => b.interval && b.checkpoint.isEmpty).foreach(_ => holdAfterwards(store))
      barrier.filter(_.replays).foreach(_ => leaveAfterwards(store))
      store
    } catch { case e: Throwable => stamps.releaseStamp(stamp, throwEx = false): Unit; throw e }
  }

  /** The store's part in the checkpoint that its task's barrier asks for. */
  private def part(barrier: TaskBarrier, version: Long): CheckpointPart =
    if (!barrier.mayBeAhead(id.operatorId)) {
      CheckpointPart(barrier.checkpoint.map(checkpoint(_, version, barrier)), None)
    } else {
      val owed = barrier.owed.map(number => OwedCheckpoint(number, checkpoint(number, version, barrier)))
      CheckpointPart(None, owed)
    }

  private def checkpoint(number: Long, version: Long, barrier: TaskBarrier): TaskCheckpoint = {
    val task = TaskContext.get()
    if (barrier.interval) {
      // Until the snapshot itself is expected, or will not be.
      val part = location.expect(version + 1)
      task.addTaskCompletionListener[Unit](_ => part.close()): Unit
    }
    new TaskCheckpoint(StateInternals.queryId(task), runId.toString, number, storeId, task)
  }

  private def holdAfterwards(store: SnaplineStateStore): Unit = atGoodEnd(store) { made =>
    StoreHolders.here.hold(HeldStore(runId.toString, storeId, made), this)
  }

  private def leaveAfterwards(store: SnaplineStateStore): Unit = atGoodEnd(store) { made =>
    OpenStates.here.leave(place, made.version, this)
  }

  /** Before the stamp is given back: listeners run in the reverse order. */
  private def atGoodEnd(store: SnaplineStateStore)(act: VersionRef => Unit): Unit =
    TaskContext.get().addTaskCompletionListener[Unit] { task =>
      for (made <- store.made if !task.isFailed() && !task.isInterrupted()) act(made)
    }: Unit

  override def snapshot(ref: VersionRef, to: SnapshotListener): Boolean =
    StateInternals.stampIfFree(stamps).exists { stamp =>
      try state.checkpoint(ref, to)
      finally stamps.releaseStamp(stamp, throwEx = false): Unit
    }

  private def place = location.place

  private def storeId = place.store

  private def loading(version: Long)(load: => Unit): Unit =
    try {
      load
      families.bind(state.backend)
    } catch {
      case e: StateNotFound =>
        throw StateInternals.cannotRead(s"${id.storeCheckpointLocation()}: version $version does not exist", e)
      case e: Throwable => throw StateInternals.cannotLoad(e)
    }

  private def load(
      barrier: Option[TaskBarrier],
      version: Long,
      ckptId: Option[String],
      empty: Boolean = false
  ): Unit = {
    barrier.filter(_.interval).foreach(_ => StoreHolders.here.letGo(runId.toString, storeId))
    val point = barrier.flatMap(_.restore).flatMap(restorePointAt(_, version))
    val base = point.flatMap(_.handle(id))
    location.prepare(state, barrier, base)
    val restored = point.filter(_.from.version == version)
    val ahead = restored.flatMap(_.ahead(id))
    // Where tasks had several attempts that ended well, the checkpoint has one of them and Spark's log may name
    // another.
    val named = restored.flatMap(_ => base).map(_.ref.uid)
    knownAs = ckptId.filter(known => ahead.isDefined || named.exists(_ != known))
    // In checkpoint format 1 Spark names no attempt, and the latest is taken.
    val uid = if (ahead.isDefined) None else named.orElse(ckptId.filter(_ => conf.enableStateStoreCheckpointIds))
    val leftOpen: LeftOpen =
      if (mayTakeOver(barrier)) wanted => OpenStates.here.take(place)(wanted) else LeftOpen.nothing
    wasLoaded = true
    val covered = barrier.flatMap(_.covered)
    try state.load(version, uid, empty, barrier.exists(_.interval), base.map(_.ref), ahead, leftOpen, covered)
    catch { case e: StateNotFound => throw location.missing(e) }
  }

  /** A batch replayed before may have left the state, and so may who loaded it ahead of a move. A store that replays
    * has left its own. A reader takes nothing.
    */
  private def mayTakeOver(barrier: Option[TaskBarrier]): Boolean =
    TaskContext.get() != null && !location.isReader &&
      !(wasLoaded && barrier.exists(_.replays))

  /** Waits a little for a snapshot that is being made. */
  override def giveUp(wanted: VersionRef => Boolean): Option[OpenState] = {
    val ref = if (StateInternals.isFree(stamps)) state.current.filter(wanted) else None
    if (ref.isDefined && state.awaitSnapshot(OpenStates.WaitMs) && stamps.close()) {
      isGone = true
      state.leave(location.handOver())(ref.contains(_))
    } else None
  }

  private def restorePointAt(from: RestoreFrom, version: Long): Option[RestorePoint] = {
    if (!restorePoint.exists(_.from == from)) restorePoint = RestorePoint.read(from, version, configuration)
    restorePoint
  }

  // ---- housekeeping

  /** Uploads do not hang on it; it waits a little for one that is under way, so that clean-up sees it. */
  override protected def maintain(): Unit = if (!isGone) {
    stamps.verifyForMaintenance()
    try {
      state.awaitSnapshot(SnaplineProvider.MaintenanceWaitMs)
      state.cleanUp()
    } catch {
      // Spark ends its maintenance threads so; it goes on to close the provider, if it was about to.
      case _: InterruptedException => Thread.currentThread().interrupt()
      case NonFatal(e) => logger.warn(s"Maintenance of $id failed; the next one tries again.", e)
    }
  }

  override def close(): Unit = if (!OpenStates.here.keeps(this)) end()

  override def end(): Unit = if (stamps.close()) {
    StoreHolders.here.letGo(runId.toString, storeId)
    try state.close()
    finally location.close()
  }

  override def supportedCustomMetrics: Seq[StateStoreCustomMetric] = ProviderMetrics.custom

  override def supportedInstanceMetrics: Seq[StateStoreInstanceMetric] = Seq(ProviderMetrics.lastSnapshot)

  override def toString: String = s"SnaplineStateStoreProvider[$id]"
}

object SnaplineProvider {

  /** The value of `spark.sql.streaming.stateStore.providerClass`. */
  val ClassName = "io.snapline.spark.SnaplineStateStoreProvider"
  private val MaintenanceWaitMs = 5000L
}
