package io.snapline.spark.provider

import java.io.File
import java.util.UUID

import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.TaskContext
import org.apache.spark.sql.execution.streaming.state.{StateStoreConf, StateStoreId}
import org.apache.spark.sql.execution.streaming.state.snapline.StateInternals

import io.snapline.checkpoint.StateHandle
import io.snapline.error.{SnaplineException, StateNotFound}
import io.snapline.snapshot.format.Origin
import io.snapline.snapshot.merged.{MergedStorage, NewestOrigin}
import io.snapline.snapshot.store.{Pinned, StoreContext, VersionedState}
import io.snapline.snapshot.upload.{MergedDestination, NearFolder}
import io.snapline.spark.protocol.{CheckpointFolder, DriverChannel, DriverMemoryStorage, TaskBarrier}
import io.snapline.spark.settings.SparkLineCheck
import io.snapline.state.LocalFolder
import io.snapline.storage.{CheckpointStorage, HadoopCheckpointStorage}

/** Where the state of one store lives: its folder in the checkpoint, and a folder on the executor's disk, which this
  * owns and deletes.
  */
private[spark] final class StateLocation(
    id: StateStoreId,
    runId: UUID,
    conf: StateStoreConf,
    configuration: Configuration,
    settings: ProviderSettings
) {
  private val shared = SharedResources.get(settings)
  val place: OpenStates.Place = OpenStates.Place.of(id)
  private val storeId = place.store
  private val checkpoint = new Path(id.checkpointRootLocation).getParent
  private val sharing = new ExecutorMerging.Share(checkpoint, configuration, settings)
  @volatile private var mayBeMerged = false
  private val files = new HadoopCheckpointStorage(id.storeCheckpointLocation(), configuration)
  private val withMerged = new MergedStorage(files, storeId.folder, sharing.get.files, () => mayBeMerged)
  private lazy val local = StateInternals.localFolder(s"snapline-${id.operatorId}-${id.partitionId}-${id.storeName}")
  private val factory = new LocalBackends(backend, local, settings)

  private lazy val owner: Option[String] = Try(new CheckpointFolder(checkpoint, configuration).queryId).toOption

  /** Whether the task is of no query, or of another one whose function reads this state. */
  def isReader: Boolean = Option(TaskContext.get()).exists { task =>
    val query = StateInternals.queryId(task)
    query == null || StateInternals.runOf(task) != runId.toString && owner.exists(_ != query)
  }

  /** A reader cannot know by which backend the state was written. */
  private lazy val backend: String = {
    def written = NewestOrigin.of(files).orElse(NewestOrigin.of(sharing.get.files))
    val found = if (isReader) written.flatMap(_.properties.get(StateProperties.Backend)) else None
    found.getOrElse(settings.backend.kind)
  }

  private lazy val properties = new StateProperties(conf, settings.maxParallelism, backend)

  val storage: CheckpointStorage =
    if (settings.backend.driverMemory)
      new DriverMemoryStorage(id.storeCheckpointLocation().toString, DriverChannel.plugin)
    else withMerged

  /** Before a load.
    *
    * @param base
    *   this store's state in the checkpoint that the run began with
    */
  def prepare(state: VersionedState, barrier: Option[TaskBarrier], base: Option[StateHandle]): Unit = {
    lookForMerged(barrier)
    state.keepFrom(barrier.flatMap(_.awaited))
    base.foreach(learn)
  }

  /** Where the handle of a checkpoint is. */
  private def learn(handle: StateHandle): Unit =
    handle.merged.foreach(withMerged.learn(handle.ref, _, handle.handleBytes))

  /** A query whose batches are durable has no handle that counts in a merged file. A reader outside of queries cannot
    * know which kind it reads.
    */
  private def lookForMerged(barrier: Option[TaskBarrier]): Unit = mayBeMerged = barrier match {
    case Some(of) => of.merged || of.interval && settings.fileMerging
    case None => TaskContext.get() == null || isReader
  }

  /** The store has a part in a checkpoint, until this is closed: the merged file waits for it. */
  def expect(version: Long): AutoCloseable =
    if (!settings.fileMerging) () => () else sharing.get.merger.expect(version)

  def open(snapshotMade: Long => Unit): VersionedState = new VersionedState(
    StoreContext(
      storage,
      settings.state,
      Origin(SparkLineCheck.version, runId.toString, properties.written),
      Some(near)
    ),
    factory,
    shared.snapshots,
    properties.check(_, storage.location),
    snapshotMade,
    pinned = () => namedByCheckpoints,
    merged = Option.when(settings.fileMerging) {
      new MergedDestination(() => sharing.get.merger, storeId.folder, files, () => files.makeFolder())
    },
    copying = Some(shared.changelogs)
  )

  private def near: NearFolder = {
    val folder = new File(local, "near")
    NearFolder(folder, new HadoopCheckpointStorage(new Path(folder.toURI), configuration))
  }

  private def namedByCheckpoints: Pinned = {
    val handles = new CheckpointFolder(checkpoint, configuration).completed().flatMap(_._1.handles.get(storeId))
    Pinned(handles.map(_.ref).toSet, handles.flatMap(_.files.map(_.storedName)).toSet)
  }

  /** The error for a missing version, by its likely cause. */
  def missing(e: StateNotFound): SnaplineException =
    if (!settings.backend.driverMemory) e
    else if (files.list("").nonEmpty) {
      StartCheck.inFiles(files.location, Some(e))
    } else {
      new StateNotFound(
        s"The state of ${files.location} was in the memory of a driver (${BackendSettings.Storage}), and the driver that had it has ended: ${e.found}",
        s"start the query with a new checkpoint; with ${BackendSettings.Storage} set to filesystem, state outlives the driver.",
        e
      )
    }

  /** Ends this, but for the local folder: that goes when the result is closed. */
  def handOver(): AutoCloseable = {
    sharing.close()
    () => LocalFolder.delete(local)
  }

  def close(): Unit = handOver().close()
}
