package io.snapline.snapshot.store

import java.util.concurrent.TimeUnit

import io.snapline.error.SnaplineException
import io.snapline.snapshot.format.{StateFiles, StoreFolder, TableFile, VersionRef}
import io.snapline.storage.CheckpointStorage

/** Removes from one store's folder what crashes and replays have left below the oldest checkpoint: files that no
  * coordinator has ever counted.
  */
final class SnapshotSweep(storage: CheckpointStorage, now: () => Long = () => System.currentTimeMillis()) {
  private val files = new StateFiles(storage)

  /** @param oldest
    *   version of the oldest retained checkpoint
    * @param named
    *   snapshots that checkpoints name
    * @param inUse
    *   whether somebody names a table file whose handle need not lie in this folder
    * @return
    *   how many files are gone
    */
  def run(oldest: Long, named: Set[VersionRef], inUse: String => Boolean = _ => false): Int = {
    val folder = StoreFolder.list(storage)
    val going = folder.refs.filter(ref => ref.version < oldest && !named(ref)).toSeq
    going.filter(folder.handles.contains).foreach(ref => storage.delete(ref.handleName))
    going.filter(folder.changelogs.contains).foreach(ref => storage.delete(ref.changelogName))
    going.size + removeTables(folder.handles.keySet.diff(going.toSet), inUse)
  }

  /** An upload under way has files that nobody names yet; it is over long before a day. */
  private def removeTables(handles: Set[VersionRef], inUse: String => Boolean): Int =
    try {
      val old = storage.list(TableFile.Folder).filter(_.modified < now() - TimeUnit.DAYS.toMillis(1))
      val kept = if (old.isEmpty) Set.empty[String] else handles.flatMap(files.handleMeta(_).files.map(_.storedName))
      val gone = old.map(_.name).filterNot(name => kept(name) || inUse(name))
      gone.foreach(storage.delete)
      gone.size
    } catch {
      // Nobody knows what an unreadable handle names.
      case _: SnaplineException => 0
    }
}
