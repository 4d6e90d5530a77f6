package io.snapline.snapshot

import io.snapline.error.SnaplineException
import io.snapline.storage.CheckpointStorage

/** Finds the snapshots of a version in one store's folder. Reads only. */
final class SnapshotSearch(storage: CheckpointStorage) {

  /** Those that a run has made whole, each with the length of its handle. */
  def of(version: Long, run: String): Seq[(HandleMeta, Long)] =
    StoreFolder.list(storage).handles.toSeq.filter(_._1.version == version).flatMap { case (ref, file) =>
      try Some((new StateFiles(storage).handleMeta(ref), file.length)).filter(_._1.origin.run == run)
      catch { case _: SnaplineException => None }
    }
}
