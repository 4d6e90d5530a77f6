package io.snapline.spark.savepoint

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.snapline.checkpoint.StoreId
import io.snapline.snapshot.format.Origin
import io.snapline.snapshot.merged.{MergedFiles, MergedStorage, NewestOrigin}
import io.snapline.spark.protocol.CheckpointFolder
import io.snapline.storage.{CheckpointStorage, HadoopCheckpointStorage}

/** The stores of a checkpoint, or of a native savepoint, which has them in the same places. Owns nothing. Any thread.
  */
private[savepoint] final class StoreFolders(root: String, configuration: Configuration) {
  private val merged = new MergedFiles(CheckpointFolder.mergedStorage(new Path(root), configuration))

  /** With what a merged file has of it. */
  def of(id: StoreId): CheckpointStorage = new MergedStorage(files(id), id.folder, merged, () => true)

  /** Where nothing is merged: to write to. */
  def files(id: StoreId): CheckpointStorage = new HadoopCheckpointStorage(new Path(root, id.folder), configuration)

  /** Under which settings a store was written; None: nobody can tell. */
  def origin(id: StoreId): Option[Origin] = NewestOrigin.of(files(id)).orElse(NewestOrigin.of(merged))
}
