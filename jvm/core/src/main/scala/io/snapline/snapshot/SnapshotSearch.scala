package io.snapline.snapshot

import io.snapline.error.SnaplineException
import io.snapline.storage.CheckpointStorage

/** Finds the snapshots of a version in one store's folder. Reads only. */
final class SnapshotSearch(storage: CheckpointStorage) {

  /** Those that a run has made whole, each with the length of its handle. None while one of the version cannot be read: it may be on its way, and the one that counts. */
  def of(version: Long, run: String): Seq[(HandleMeta, Long)] =
    try
      StoreFolder.list(storage).handles.toSeq.filter(_._1.version == version)
        .map { case (ref, file) => (new StateFiles(storage).handleMeta(ref), file.length) }
        .filter(_._1.origin.run == run)
    catch { case _: SnaplineException => Nil }
}
