package io.snapline.snapshot.store

import java.util.concurrent.TimeUnit
import java.util.{Map => JavaMap, TreeMap}

import org.slf4j.LoggerFactory

import io.snapline.error.SnaplineException
import io.snapline.snapshot.format.{HandleMeta, StateFiles, StoreFolder, TableFile, VersionRef}
import io.snapline.storage.{CheckpointStorage, StoredFile}

/** Clean-up of one store's folder (docs/FORMAT.md section 7): removes what loading any of the newest versions does not
  * take.
  *
  * @param pinned
  *   what checkpoints name; asked only when something is about to go
  */
private[snapshot] final class Retention(
    storage: CheckpointStorage,
    settings: StateSettings,
    pinned: () => Pinned = () => Pinned.nothing,
    now: () => Long = () => System.currentTimeMillis()
) {
  private val log = LoggerFactory.getLogger(classOf[Retention])
  private val files = new StateFiles(storage)

  /** @param recent
    *   snapshots that versions of this line name, as far as they are known without reading
    * @param awaited
    *   versions from this one on stay
    */
  def run(newest: VersionRef, recent: RecentSnapshots, awaited: Long = Long.MaxValue): Unit = {
    val oldestKept = math.min(newest.version - settings.retain + 1, awaited)
    if (oldestKept > 1) {
      val folder = StoreFolder.list(storage)
      val stale = folder.refs.map(_.version).filter(_ < oldestKept)
      if (stale.size > settings.minStale) {
        snapshotOf(folder, newest, oldestKept, recent).foreach(base => remove(folder, base))
      }
    }
  }

  /** The snapshot that the oldest kept version of this line is loaded from. */
  private def snapshotOf(
      folder: StoreFolder,
      newest: VersionRef,
      oldestKept: Long,
      recent: RecentSnapshots
  ): Option[VersionRef] =
    recent.of(oldestKept).getOrElse {
      var at = newest
      try {
        var base = Option.empty[VersionRef]
        var going = true
        while (going) {
          if (isSnapshotAlone(folder, at)) {
            base = aloneFrom(folder, at, oldestKept)
            going = false
          } else {
            val meta = files.changelogMeta(at)
            base = meta.snapshot.filter(_.version <= oldestKept)
            // A snapshot below the oldest kept version serves every version from there up to this one.
            going = base.isEmpty && at.version > oldestKept && meta.parent.isDefined
            meta.parent.foreach(at = _)
          }
        }
        base
      } catch {
        case e: SnaplineException =>
          log.warn(s"Clean-up of ${storage.location} waits: version $at cannot be read: ${e.getMessage}")
          None
      }
    }

  private def isSnapshotAlone(folder: StoreFolder, ref: VersionRef): Boolean =
    folder.handles.contains(ref) && !folder.changelogs.contains(ref)

  /** Versions that need no other have no line to go down: all from the oldest kept one up have to be so. */
  private def aloneFrom(folder: StoreFolder, at: VersionRef, oldestKept: Long): Option[VersionRef] = {
    val versions = (oldestKept to at.version).map(folder.candidates(_))
    if (versions.forall(refs => refs.nonEmpty && refs.forall(isSnapshotAlone(folder, _)))) {
      versions.headOption.map(_.head)
    } else None
  }

  private def remove(folder: StoreFolder, base: VersionRef): Unit = {
    // After the handles: a table file of an upload that ends meanwhile is young, and stays.
    val tables = storage.list(TableFile.Folder)
    if (isWhole(base, tables)) remove(folder, base, tables)
    else log.warn(
      s"Clean-up of ${storage.location} waits: the snapshot $base is not whole, older files may be needed in its stead."
    )
  }

  private def isWhole(base: VersionRef, tables: Seq[StoredFile]): Boolean = {
    val lengths = tables.map(file => file.name -> file.length).toMap
    read(base).exists(_.files.forall(file => lengths.get(file.storedName).contains(file.length)))
  }

  private def remove(folder: StoreFolder, base: VersionRef, tables: Seq[StoredFile]): Unit = {
    val kept = pinned()
    val versions = folder.refs.diff(kept.snapshots).map(_.version).filter(_ < base.version).toSeq.sorted
    val last = if (settings.maxDeletes > 0) versions.take(settings.maxDeletes).lastOption else versions.lastOption
    val (going, staying) = folder.refs.toSeq.partition(ref => last.exists(ref.version <= _) && !kept.snapshots(ref))
    val goingHandles = going.filter(folder.handles.contains)
    // Files that a deleted handle named may go with it. A file that nobody names may belong to an upload under way.
    val released = goingHandles.flatMap(named(_).getOrElse(Nil)).toSet
    goingHandles.foreach(ref => storage.delete(ref.handleName))
    going.filter(folder.changelogs.contains).foreach(ref => storage.delete(ref.changelogName))

    val keptNames = staying.filter(folder.handles.contains).map(named)
    if (keptNames.forall(_.isDefined)) {
      val names = keptNames.flatMap(_.get).toSet ++ kept.tables
      val orphanBefore = now() - TimeUnit.DAYS.toMillis(1)
      val gone = tables.filter(file => !names(file.name) && (released(file.name) || file.modified < orphanBefore))
      gone.foreach(file => storage.delete(file.name))
      log.info(
        s"Cleaned up ${storage.location}: ${going.size} versions below $base and ${gone.size} table files removed."
      )
    }
  }

  private def named(ref: VersionRef): Option[Seq[String]] = read(ref).map(_.files.map(_.storedName))

  /** None: the handle cannot be read, so nobody knows what it names. */
  private def read(ref: VersionRef): Option[HandleMeta] =
    try Some(files.handleMeta(ref))
    catch {
      case e: SnaplineException =>
        log.warn(
          s"The handle $ref in ${storage.location} cannot be read; table files are left where they are: ${e.getMessage}"
        )
        None
    }
}

/** The snapshots and table files of one store that checkpoints of a query name. They are told apart because handles may
  * lie in merged files.
  *
  * @param tables
  *   names of table files in the store's folder
  */
final case class Pinned(snapshots: Set[VersionRef], tables: Set[String])

object Pinned {
  val nothing: Pinned = Pinned(Set.empty, Set.empty)
}

/** The snapshot that each of the newest versions of a line names, so that clean-up need not read their changelogs. A
  * row of versions that name the same one is one entry.
  *
  * Bounded whatever the number of versions is that are kept: clean-up reads what this has forgotten. Any thread.
  */
private[snapshot] final class RecentSnapshots {

  /** By the first version of each row. */
  private val rows = new TreeMap[java.lang.Long, Option[VersionRef]]
  private var newest = -1L

  /** @param retain
    *   versions kept, the newest included; clean-up asks for the oldest of them
    */
  def add(version: Long, snapshot: Option[VersionRef], retain: Int): Unit = synchronized {
    // A gap belongs to no row.
    if (version != newest + 1) rows.clear()
    if (rows.isEmpty || rows.lastEntry.getValue != snapshot) rows.put(version, snapshot)
    newest = version
    while (isOver(rows.higherEntry(rows.firstKey), version - retain + 1)) rows.pollFirstEntry(): Unit
  }

  private def isOver(second: JavaMap.Entry[java.lang.Long, Option[VersionRef]], oldestKept: Long): Boolean =
    second != null && (second.getKey <= oldestKept || rows.size > RecentSnapshots.MostRows)

  /** The snapshot that the version names; None: it is not known here. */
  def of(version: Long): Option[Option[VersionRef]] = synchronized {
    if (version > newest) None else Option(rows.floorEntry(version)).map(_.getValue)
  }

  def clear(): Unit = synchronized(rows.clear())

  def size: Int = synchronized(rows.size)
}

private[snapshot] object RecentSnapshots {

  /** A version in ten has a snapshot, or fewer. */
  private[snapshot] val MostRows = 1000
}
