package io.snapline.spark.plugin

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.state.StateStoreId

import io.snapline.checkpoint.{CheckpointMetadata, StateHandle, StoreId}
import io.snapline.error.InternalError
import io.snapline.storage.HadoopCheckpointStorage

/** The checkpoint a run goes on from: which attempt of its version each store has to load. */
private[spark] final class RestorePoint(val metadata: String, handles: Map[StoreId, StateHandle]) {

  /** None: the checkpoint does not know the store. */
  def handle(store: StateStoreId): Option[StateHandle] =
    handles.get(StoreId(store.operatorId, store.partitionId, store.storeName))
}

private[spark] object RestorePoint {

  /** @param metadata path of a `_metadata` */
  def read(metadata: String, configuration: Configuration): RestorePoint = {
    val path = new Path(metadata)
    val number = CheckpointMetadata.number(path.getParent.getName).getOrElse {
      throw new InternalError(s"$metadata is no path of a checkpoint's metadata.")
    }
    val storage = new HadoopCheckpointStorage(path.getParent.getParent, configuration)
    new RestorePoint(metadata, CheckpointMetadata.read(storage, number)._1.handles)
  }
}
