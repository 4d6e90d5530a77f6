package io.snapline.spark.provider

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.spark.TaskContext
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.execution.streaming.state.snapline.{StateInternals, TaskFailure}
import org.slf4j.LoggerFactory

import io.snapline.snapshot.format.VersionRef
import io.snapline.state.BackendMetrics

/** One version of a store, lent to one task. Owns the provider's stamp until it is committed, aborted or released; a
  * task that ends gives it back by itself.
  *
  * @param use
  *   what this task does with it
  */
private[spark] final class SnaplineStateStore(
    provider: SnaplineProvider,
    use: StoreUse,
    useColumnFamilies: Boolean,
    conf: StateStoreConf,
    private[spark] val configuration: Configuration,
    validation: RowValidation
) extends StoreRows(provider, use.stamp, useColumnFamilies, validation) {
  import StorePhase._

  private val log = LoggerFactory.getLogger(classOf[SnaplineStateStore])
  private val state = provider.state
  private val base: Option[VersionRef] = state.current
  private val before: BackendMetrics = state.backend.metrics
  private var isReadOnly = use.readOnly
  private var forceSnapshot = use.forceSnapshot
  private var committed: Option[VersionRef] = None
  private var inFlightBytes = 0L
  private var lastMetrics = StateStoreMetrics(0, 0, Map.empty, Map.empty)

  Option(TaskContext.get()).foreach { task =>
    task.addTaskCompletionListener[Unit] { _ =>
      try if (phase == Updating) { if (isReadOnly) release() else abort() }
      catch { case NonFatal(e) => log.warn(s"Could not give up $this at the end of its task.", e) }
      finally stamps.releaseStamp(stamp, throwEx = false): Unit
    }
    task.addTaskFailureListener((_, _) => if (phase == Updating) abort())
    // The listeners have run already if the task has failed: nothing may be done any more.
    TaskFailure.of(task).foreach(throw _)
  }

  override val version: Long = use.version

  def readOnly: Boolean = isReadOnly

  /** Whether the version has a column family of that name, declared or not. */
  private[spark] def holds(family: String): Boolean = state.backend.family(family) != null

  private[spark] def upgrade(force: Boolean): Unit = {
    isReadOnly = false
    forceSnapshot = force
  }

  override def commit(): Long = synchronized {
    expect(Updating)
    try {
      stamps.verifyStamp(stamp)
      val ref = state.commit(forceSnapshot, use.part.now, use.part.owed, inFlightBytes)
      committed = Some(ref)
      lastMetrics = measure()
      transition(Commit)
      if (conf.commitValidationEnabled) StateStore.reportCommitToCoordinator(ref.version, id, configuration)
      ref.version
    } catch { case e: Throwable => throw StateInternals.cannotCommit(toString, e) }
  }

  /** Rows of so many bytes are in the store that were not processed. */
  private[spark] def keepsInFlight(bytes: Long): Unit = inFlightBytes = bytes

  /** The version that its commit made. */
  private[spark] def made: Option[VersionRef] = committed

  override def abort(): Unit = {
    expect(Updating, Aborted)
    if (phase != Aborted) {
      try {
        transition(Abort)
        state.abort()
      } finally stamps.releaseStamp(stamp, throwEx = false): Unit
    }
  }

  override def release(): Unit = {
    if (!isReadOnly) throw new IllegalStateException("Release can only be called on a read-only store")
    if (phase != Released) transition(Release)
  }

  override def hasCommitted: Boolean = phase == Committed

  override def metrics: StateStoreMetrics = {
    checkEnded()
    lastMetrics
  }

  private def measure(): StateStoreMetrics = {
    val now = state.backend.metrics
    val all = state.backend.families
    val (internal, external) = all.partition(_.descriptor.internal)
    StateStoreMetrics(
      external.map(_.keyCount).sum,
      now.tableBytes + now.nativeBytes + now.indexBytes,
      ProviderMetrics.of(
        now,
        before,
        state.stats,
        internal.map(_.keyCount).sum,
        if (useColumnFamilies) (external.size, internal.size) else (0, 0),
        forceSnapshot,
        rowsReadForEviction
      ),
      Map(ProviderMetrics.lastSnapshot.withNewId(id.partitionId, id.storeName) -> state.stats.snapshotVersion)
    )
  }

  override def getStateStoreCheckpointInfo(): StateStoreCheckpointInfo = {
    checkEnded()
    val ref = committed.getOrElse {
      throw StateStoreErrors.stateStoreOperationOutOfOrder("Cannot get checkpointInfo without committing the store")
    }
    val ids = conf.enableStateStoreCheckpointIds
    StateStoreCheckpointInfo(
      id.partitionId,
      ref.version,
      if (ids) Some(ref.uid) else None,
      if (ids) use.knownAs.orElse(base.map(_.uid)) else None
    )
  }

  override def toString: String = s"SnaplineStateStore[stateStoreId=$id, version=$version]"
}

/** One task's use of a version of a store.
  *
  * @param knownAs
  *   the id that Spark knows the version by, if it is not the state's own
  * @param part
  *   the store's part in a checkpoint
  */
private[provider] final case class StoreUse(
    version: Long,
    stamp: Long,
    readOnly: Boolean,
    forceSnapshot: Boolean,
    knownAs: Option[String],
    part: CheckpointPart
)
