package io.snapline.snapshot.merged

import io.snapline.error.{CheckpointDamaged, NotACheckpoint, SnaplineException, StateNotFound, UnsupportedVersion}
import io.snapline.snapshot.format.{Origin, StateFiles, StoreFolder, VersionRef}
import io.snapline.storage.{ArrayStorage, CheckpointStorage}

/** Finds the snapshots of a version of one store, in its folder and in merged files. Reads only.
  *
  * @param store
  *   the folder, relative to the checkpoint
  * @param files
  *   merged files of the version
  */
final class SnapshotSearch(storage: CheckpointStorage, store: String, merged: MergedFiles, files: Seq[MergedFile]) {

  /** The handles that a run has completed. None while one of the version cannot be read: it may be on its way, and be
    * the one that counts.
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

/** Under which settings state was written, as its newest file says that can be read. Reads one file, or a few where the
  * newest are damaged: whoever loads them says so.
  */
object NewestOrigin {
  private val Tries = 5

  /** The origin of the newest file of a store's folder. */
  def of(folder: CheckpointStorage): Option[Origin] = {
    val there = StoreFolder.list(folder)
    val files = new StateFiles(folder)
    newest(there.refs) { ref =>
      Some(if (there.handles.contains(ref)) files.handleMeta(ref).origin else files.changelogMeta(ref).origin)
    }
  }

  /** The origin of the newest handle of a query whose handles lie in merged files. */
  def of(merged: MergedFiles): Option[Origin] = newest(merged.list().toSet) { ref =>
    merged.of(ref.version).find(_.ref == ref).flatMap(file => file.members.headOption.map(file -> _)).map {
      case (file, member) =>
        val handle = new MergedStorage(new ArrayStorage(member.store), member.store, merged, () => false)
        handle.learn(member.ref, file.place(member), member.length.toLong)
        new StateFiles(handle).handleMeta(member.ref).origin
    }
  }

  private def newest(refs: Set[VersionRef])(read: VersionRef => Option[Origin]): Option[Origin] =
    refs.toSeq.sortBy(ref => (ref.version, ref.uid)).reverse.take(Tries).iterator.flatMap { ref =>
      try read(ref)
      catch { case _: CheckpointDamaged | _: NotACheckpoint | _: StateNotFound | _: UnsupportedVersion => None }
    }.nextOption()
}
