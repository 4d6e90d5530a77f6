package io.snapline.snapshot

import java.util.concurrent.{ConcurrentSkipListMap, TimeUnit}

import org.slf4j.LoggerFactory

import io.snapline.error.SnaplineException
import io.snapline.storage.CheckpointStorage

/** Clean-up of one store's folder (docs/FORMAT.md section 7): removes what loading any of the newest versions does not take. */
private[snapshot] final class Retention(
    storage: CheckpointStorage,
    settings: StateSettings,
    now: () => Long = () => System.currentTimeMillis()
) {
  private val log = LoggerFactory.getLogger(classOf[Retention])
  private val files = new StateFiles(storage)

  /** @param recent
    *   snapshots that versions of this line name, as far as they are known without reading
    */
  def run(newest: VersionRef, recent: ConcurrentSkipListMap[java.lang.Long, Option[VersionRef]]): Unit = {
    val oldestKept = newest.version - settings.retain + 1
    if (oldestKept > 1) {
      val folder = StoreFolder.list(storage)
      val stale = folder.refs.map(_.version).filter(_ < oldestKept)
      if (stale.size > settings.minStale) {
        snapshotOf(newest, oldestKept, recent).foreach(base => remove(folder, base))
      }
    }
  }

  /** The snapshot that the oldest kept version of this line is loaded from. */
  private def snapshotOf(
      newest: VersionRef,
      oldestKept: Long,
      recent: ConcurrentSkipListMap[java.lang.Long, Option[VersionRef]]
  ): Option[VersionRef] =
    if (recent.containsKey(oldestKept)) recent.get(oldestKept)
    else {
      var at = newest
      try {
        var meta = files.changelogMeta(at)
        // A snapshot below the oldest kept version serves every version from there up to this one.
        while (at.version > oldestKept && meta.snapshot.forall(_.version > oldestKept) && meta.parent.isDefined) {
          at = meta.parent.get
          meta = files.changelogMeta(at)
        }
        meta.snapshot.filter(_.version <= oldestKept)
      } catch {
        case e: SnaplineException =>
          log.warn(s"Clean-up of ${storage.location} waits: version $at cannot be read: ${e.getMessage}")
          None
      }
    }

  private def remove(folder: StoreFolder, base: VersionRef): Unit = {
    val below = folder.refs.filter(_.version < base.version).toSeq.sortBy(_.version)
    val versions = below.map(_.version).distinct
    val last = if (settings.maxDeletes > 0) versions.take(settings.maxDeletes).lastOption else versions.lastOption
    val (going, staying) =
      (folder.refs.toSeq).partition(ref => last.exists(ref.version <= _) && ref.version < base.version)
    val goingHandles = going.filter(folder.handles.contains)
    // What a handle that goes named may go with it; what nobody names may belong to an upload under way.
    val released = goingHandles.flatMap(named).toSet
    goingHandles.foreach(ref => storage.delete(ref.handleName))
    going.filter(folder.changelogs.contains).foreach(ref => storage.delete(ref.changelogName))

    val kept = staying.filter(folder.handles.contains)
    val keptNames = kept.map(ref => readNamed(ref))
    if (keptNames.forall(_.isDefined)) {
      val names = keptNames.flatMap(_.get).toSet
      val orphanBefore = now() - TimeUnit.DAYS.toMillis(1)
      val gone = storage.list(TableFile.Folder).filter { file =>
        !names(file.name) && (released(file.name) || file.modified < orphanBefore)
      }
      gone.foreach(file => storage.delete(file.name))
      log.info(
        s"Cleaned up ${storage.location}: ${going.size} versions below $base and ${gone.size} table files removed."
      )
    }
  }

  private def named(ref: VersionRef): Seq[String] = readNamed(ref).getOrElse(Nil)

  /** None: the handle cannot be read, so nobody knows what it names. */
  private def readNamed(ref: VersionRef): Option[Seq[String]] =
    try Some(files.handleMeta(ref).files.map(_.storedName))
    catch {
      case e: SnaplineException =>
        log.warn(
          s"The handle $ref in ${storage.location} cannot be read; table files are left where they are: ${e.getMessage}"
        )
        None
    }
}
