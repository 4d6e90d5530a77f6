package io.snapline.spark.protocol

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.state.StateStoreId
import org.slf4j.LoggerFactory

import io.snapline.checkpoint.{CheckpointMetadata, StateHandle, StoreId}
import io.snapline.error.{InternalError, StateNotFound}
import io.snapline.snapshot.format.VersionRef
import io.snapline.storage.HadoopCheckpointStorage

/** The checkpoint a run goes on from, as the driver names it to tasks.
  *
  * @param metadata
  *   path of its `_metadata`
  * @param version
  *   the version a store has to have where the run goes on
  */
final case class RestoreFrom(metadata: String, version: Long)

/** The checkpoint a run goes on from: which attempt of its version each store has to load. */
private[spark] final class RestorePoint(val from: RestoreFrom, handles: Map[StoreId, StateHandle]) {

  /** None: the checkpoint does not know the store. */
  def handle(store: StateStoreId): Option[StateHandle] =
    handles.get(StoreId(store.operatorId, store.partitionId, store.storeName))

  /** A snapshot that holds later batches than the checkpoint's. */
  def ahead(store: StateStoreId): Option[VersionRef] = handle(store).map(_.ref).filter(_.version > from.version)
}

private[spark] object RestorePoint {
  private val log = LoggerFactory.getLogger(classOf[RestorePoint])

  /** @param wanted
    *   the version to load
    * @return
    *   None: a later checkpoint subsumed it after the driver named it. A store of a later version than its own does
    *   without.
    */
  def read(from: RestoreFrom, wanted: Long, configuration: Configuration): Option[RestorePoint] = {
    val path = new Path(from.metadata)
    val number = CheckpointMetadata.number(path.getParent.getName).getOrElse {
      throw new InternalError(s"$path is no path of a checkpoint's metadata.")
    }
    val storage = new HadoopCheckpointStorage(path.getParent.getParent, configuration)
    try Some(new RestorePoint(from, CheckpointMetadata.read(storage, number)._1.handles))
    catch {
      case _: StateNotFound if wanted > from.version =>
        log.info(s"$path is gone: a later checkpoint subsumed it, and version $wanted is loaded without it.")
        None
    }
  }
}
