package io.snapline.spark.protocol

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.state.StateStoreId

import io.snapline.checkpoint.{CheckpointMetadata, StateHandle, StoreId}
import io.snapline.error.InternalError
import io.snapline.snapshot.format.VersionRef
import io.snapline.storage.HadoopCheckpointStorage

/** The checkpoint a run goes on from: which attempt of its version each store has to load. */
private[spark] final class RestorePoint(val metadata: String, batch: Long, handles: Map[StoreId, StateHandle]) {

  /** None: the checkpoint does not know the store. */
  def handle(store: StateStoreId): Option[StateHandle] =
    handles.get(StoreId(store.operatorId, store.partitionId, store.storeName))

  /** The version a store has to have where the run goes on. */
  def version: Long = batch + 1

  /** A snapshot that holds later batches than the checkpoint's. */
  def ahead(store: StateStoreId): Option[VersionRef] = handle(store).map(_.ref).filter(_.version > version)
}

private[spark] object RestorePoint {

  /** @param metadata path of a `_metadata` */
  def read(metadata: String, configuration: Configuration): RestorePoint = {
    val path = new Path(metadata)
    val number = CheckpointMetadata.number(path.getParent.getName).getOrElse {
      throw new InternalError(s"$metadata is no path of a checkpoint's metadata.")
    }
    val storage = new HadoopCheckpointStorage(path.getParent.getParent, configuration)
    val checkpoint = CheckpointMetadata.read(storage, number)._1
    new RestorePoint(metadata, checkpoint.batch, checkpoint.handles)
  }
}
