package io.snapline.snapshot.store

import io.snapline.error.{CheckpointDamaged, StateNotFound}
import io.snapline.snapshot.format.{ChangelogMeta, HandleMeta, StateFiles, StoreFolder, UidClock, VersionRef}
import io.snapline.storage.CheckpointStorage

/** Brings a state that was left open to the wanted version: by the changelogs since, if it is an older one of the same
  * line (docs/notes/024-rebalancing.md). One thread, one load.
  *
  * @param uid
  *   None: the latest attempt in the folder
  * @param deadline
  *   until then (System.nanoTime) the folder may get what it lacks: another executor copies changelogs behind its batch
  */
private[snapshot] final class CatchUp(
    files: CheckpointStorage,
    clock: UidClock,
    version: Long,
    uid: Option[String],
    deadline: Long
) {
  private val read = new StateFiles(files)

  /** Changelogs from the state that was asked about last to the wanted version, newest first. */
  private var line = Seq.empty[ChangelogMeta]

  /** Whether the wanted version is that state, or comes of it. */
  def reaches(from: VersionRef): Boolean =
    if (from.version == version) {
      // Without an id the latest attempt counts, and another executor may have made one since.
      uid.fold(listed().candidates(version).headOption.contains(from))(_ == from.uid)
    } else from.version < version && {
      val found = FolderWait.until(deadline)(lineFrom(from))
      line = found.getOrElse(Nil)
      line.nonEmpty
    }

  /** None: nothing of the wanted version is there, or a changelog is missing. */
  private def lineFrom(from: VersionRef): Option[Seq[ChangelogMeta]] = {
    listed().candidates(version, uid).headOption.flatMap { wanted =>
      try {
        val (line, below) = read.walk(wanted, _.version <= from.version)
        Some(if (below.contains(from)) line else Nil)
      } catch { case _: StateNotFound | _: CheckpointDamaged => None }
    }
  }

  /** Where the latest attempt counts, the next one made here has to be later than all that are there. */
  private def listed(): StoreFolder = {
    val folder = StoreFolder.list(files)
    folder.refs.foreach(ref => clock.observe(ref.uid))
    folder
  }

  /** The state is that of the wanted version afterwards. It is of no use if this throws.
    *
    * @return
    *   changelogs applied
    */
  def run(held: HeldState): Int = {
    if (line.nonEmpty) {
      StateRestore.replay(read, line, held.backend)
      held.caughtUp(line.head, snapshotOf(held))
    }
    line.size
  }

  /** The snapshot below the wanted version: others may have made one since. */
  private def snapshotOf(held: HeldState): Option[HandleMeta] =
    line.head.snapshot.map(ref => held.snapshot.filter(_.ref == ref).getOrElse(read.handleMeta(ref)))
}
