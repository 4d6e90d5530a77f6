package io.snapline.snapshot.merged

import io.snapline.error.SnaplineException
import io.snapline.snapshot.format.{StateFiles, StoreFolder}
import io.snapline.storage.CheckpointStorage

/** Finds the snapshots of a version of one store, in its folder and in merged files. Reads only.
  *
  * @param store
  *   the folder, relative to the checkpoint
  * @param files
  *   merged files of the version
  */
final class SnapshotSearch(storage: CheckpointStorage, store: String, merged: MergedFiles, files: Seq[MergedFile]) {

  /** Those that a run has made whole. None while one of the version cannot be read: it may be on its way, and the one
    * that counts.
    */
  def of(version: Long, run: String): Seq[StoredHandle] =
    try {
      val own = StoreFolder.list(storage).handles.toSeq.filter(_._1.version == version)
        .map { case (ref, file) => StoredHandle(new StateFiles(storage).handleMeta(ref), file.length) }
      val refs = own.map(_.meta.ref).toSet
      (own ++ members.filterNot(handle => refs(handle.meta.ref))).filter(_.meta.origin.run == run)
    } catch { case _: SnaplineException => Nil }

  private def members: Seq[StoredHandle] = for {
    file <- files
    member <- file.members if member.store == store
  } yield {
    val there = new MergedStorage(storage, store, merged, () => false)
    there.learn(member.ref, file.place(member), member.length.toLong)
    StoredHandle(new StateFiles(there).handleMeta(member.ref), member.length.toLong, Some(file.place(member)))
  }
}
