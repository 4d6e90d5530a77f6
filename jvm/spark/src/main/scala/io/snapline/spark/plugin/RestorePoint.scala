package io.snapline.spark.plugin

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.state.StateStoreId

import io.snapline.checkpoint.{CheckpointMetadata, StoreId}
import io.snapline.storage.HadoopCheckpointStorage

/** The checkpoint a run goes on from: which attempt of its version each store has to load. */
private[spark] final class RestorePoint(val metadata: String, handles: Map[StoreId, (Long, String)]) {

  /** None: the version is another one, or the checkpoint does not know the store. */
  def uid(store: StateStoreId, version: Long): Option[String] =
    handles.get(StoreId(store.operatorId, store.partitionId, store.storeName)).filter(_._1 == version).map(_._2)
}

private[spark] object RestorePoint {

  /** @param metadata path of a `_metadata` */
  def read(metadata: String, configuration: Configuration): RestorePoint = {
    val path = new Path(metadata)
    val content = CheckpointMetadata.read(new HadoopCheckpointStorage(path.getParent, configuration), path.getName)
    new RestorePoint(metadata, content.checkpoint.handles.map { case (id, handle) => id -> ((handle.ref.version, handle.ref.uid)) })
  }
}
