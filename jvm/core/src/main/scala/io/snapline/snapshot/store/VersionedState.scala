package io.snapline.snapshot.store

import java.util.concurrent.TimeUnit

import org.slf4j.LoggerFactory

import io.snapline.error._
import io.snapline.snapshot.format._
import io.snapline.snapshot.upload.{ChangelogUploads, HandleDestination, OwedCheckpoint, SnapshotListener, SnapshotPool}
import io.snapline.state.KeyedBackend

/** The versions of one store: a backend that holds one of them, and the files in storage that hold them all.
  *
  * Owns the backend: makes it at the first load, closes it when an abort makes it useless and on `close`. One thread at
  * a time, save the methods that say otherwise. A committed version is in storage before `commit` returns. With
  * interval durability (docs/notes/004-checkpoints.md) it is in `near`. Owns the files in `near`: all that a version
  * needs stays there until a later version was loaded. Until then the batch that begins at it may be run again.
  *
  * @param check
  *   compares the origin of files read with the store's own; throws if they do not go together
  * @param snapshotMade
  *   told the version of every snapshot, from any thread
  * @param pinned
  *   files that clean-up leaves, because checkpoints of the query name them
  * @param merged
  *   the merged files that take handles of checkpoints under interval durability; None: files of their own
  * @param copying
  *   threads that copy changelogs to storage under interval durability; None: those of snapshots
  */
final class VersionedState(
    store: StoreContext,
    factory: BackendFactory,
    pool: SnapshotPool,
    check: Origin => Unit,
    snapshotMade: Long => Unit = _ => (),
    pinned: () => Pinned = () => Pinned.nothing,
    merged: Option[HandleDestination] = None,
    copying: Option[SnapshotPool] = None
) extends AutoCloseable {
  import store.{clock, origin, settings, storage}

  private val log = LoggerFactory.getLogger(classOf[VersionedState])
  @volatile private var held: HeldState = _

  private var lastLoaded: Option[VersionRef] = None

  /** Held before, and still open for snapshots that were begun of it. One at most. */
  private var retired: Option[HeldState] = None
  private val loader = new StateLoader(store, factory, check)
  private val figures = new StoreFigures(snapshotMade)
  private val snapshots = new StoreSnapshots(store, merged, figures.snapshotMade)
  private var writer: ChangelogWriter = _
  private var changesAtBegin = 0L

  /** Whether the changes of the last commit are in `near` only. */
  private var lastIsNear = false

  /** Changelogs that are copied to storage behind their commits. */
  private var uploads: Option[ChangelogUploads] = None
  private lazy val newUploads = new ChangelogUploads(loader.own, storage, copying.getOrElse(pool))

  /** The oldest version that must stay, however many are kept. */
  @volatile private var oldestAwaited = Long.MaxValue

  /** The files in storage are a coordinator's to delete. */
  @volatile private var isCoordinated = false
  @volatile private var isClosed = false
  private val owing = new OwedSnapshot(pool)

  /** The backend with the version loaded last. */
  def backend: KeyedBackend = {
    if (held == null) throw new StoreClosed(s"No version of ${storage.location} is loaded.", "load one before use.")
    held.backend
  }

  /** The version held, before any uncommitted change; None before the first load or for the empty store. */
  def current: Option[VersionRef] = if (held == null) None else held.ref

  /** How many entries are held of older versions. */
  private[snapshot] def remembered: Int = if (held == null) 0 else held.recent.size

  /** Figures of the last load, commit and snapshot. Any thread. */
  def stats: StateStatistics = figures.current

  /** Makes the backend hold exactly this version, and opens the next one for changes.
    *
    * @param uid
    *   None: whichever attempt is held, else the latest in storage
    * @param empty
    *   hold nothing, as if the version had left no rows
    * @param interval
    *   changes need not be in storage when `commit` returns; a coordinator deletes files of snapshots
    * @param base
    *   the one snapshot it leaves while this run goes on
    * @param ahead
    *   a snapshot of a later version that stands for this one
    * @param leftOpen
    *   where a state may be found that need not be loaded
    * @param covered
    *   changelogs go to storage all the same, behind the commit, but for those up to this version; None: they do not
    */
  def load(
      version: Long,
      uid: Option[String],
      empty: Boolean = false,
      interval: Boolean = false,
      base: Option[VersionRef] = None,
      ahead: Option[VersionRef] = None,
      leftOpen: LeftOpen = LeftOpen.nothing,
      covered: Option[Long] = None
  ): Unit = {
    checkOpen()
    owing.begin()
    isCoordinated = interval
    uploads = covered.filter(_ => interval && settings.changelog).map { version =>
      newUploads.cover(version)
      newUploads
    }
    val begun = System.nanoTime()
    if (dirty) abandon()
    // All attempts at a batch begin with the same state: where Spark names none, that is the one it began with here.
    val wanted = uid.orElse(lastLoaded.filter(ref => interval && ref.version == version).map(_.uid))
    val isHeld = !empty && holds(version, wanted)
    val isOpen = isHeld && writer != null
    var fromStorage = false
    var replayed = 0
    if (!isHeld) {
      drop()
      if (version == 0 || empty) held = loader.empty(version)
      else {
        val awaits = uploads.isDefined
        val left = if (ahead.isEmpty) loader.takeOver(leftOpen, version, wanted, interval, base, awaits) else None
        fromStorage = left.isEmpty
        held = left.fold(loader.load(version, wanted, interval, base, ahead, awaits))(_.held)
        replayed = left.fold(held.distance)(_.replayed)
      }
    }
    lastLoaded = held.ref
    begin(version, interval)
    // An operator that reads before it writes opens the version twice, and loads it once.
    if (isOpen) figures.openedAgain(millis(begun))
    else figures.loaded(millis(begun), fromStorage, replayed)
  }

  /** Like `load`, from one given snapshot; for reading old state. */
  def loadFrom(snapshotVersion: Long, snapshotUid: Option[String], version: Long, uid: Option[String]): Unit = {
    checkOpen()
    owing.begin()
    drop()
    held = loader.loadFrom(snapshotVersion, snapshotUid, version, uid)
    begin(version, interval = false)
  }

  /** A store that began empty at a later version passes for no version in storage. One that is not sound is loaded
    * anew: each attempt at the batch would fail in it.
    */
  private def holds(version: Long, uid: Option[String]): Boolean =
    held != null && held.version == version && held.backend.isSound && {
      if (version == 0) true else held.ref.exists(ref => uid.forall(_ == ref.uid))
    }

  /** Before a task uses the store. An operator need not read a scan to its end, and Spark closes none of them. */
  def closeScans(): Unit = if (held != null) held.backend.closeScans()

  private def begin(version: Long, interval: Boolean): Unit = {
    val ref = VersionRef(version + 1, clock.next())
    val target = if (interval) loader.own else storage
    writer = new ChangelogWriter(target, ref, settings.compress, settings.changelog, shown = !interval)
    held.backend.beginChanges(writer)
    changesAtBegin = held.backend.changeCount
    held.backend.trim()
    held.begun()
    held.superseded().foreach(snapshot => pool.submit(() => snapshots.release(snapshot)))
  }

  private def dirty: Boolean = held != null && held.backend.changeCount != changesAtBegin

  /** Makes the changes since `load` the next version. Durable when it returns, unless it was loaded for interval
    * durability.
    *
    * @param forceSnapshot
    *   whether to wait for a snapshot of it too
    * @param checkpoint
    *   the listener of a snapshot that is made in the background
    * @param owed
    *   the snapshot that is made when no task uses the store
    * @param inFlightBytes
    *   bytes of its in-flight data
    */
  def commit(
      forceSnapshot: Boolean = false,
      checkpoint: Option[SnapshotListener] = None,
      owed: Option[OwedCheckpoint] = None,
      inFlightBytes: Long = 0
  ): VersionRef = {
    checkOpen()
    val begun = System.nanoTime()
    val changelog = writer
    try {
      held.backend.cutChanges()
      val meta = held.changelogMeta(changelog, origin)
      changelog.finish(meta)
      lastIsNear = changelog.storage ne storage
      held.committed(meta, changelog.bytesWritten, Some(settings.retain).filterNot(_ => lastIsNear), inFlightBytes)
      if (lastIsNear) uploads.foreach(_.add(changelog.ref))
    } catch {
      case e: Throwable =>
        abandon()
        throw e
    }
    // It counts: an abort that comes now has nothing to take back.
    writer = null
    changesAtBegin = held.backend.changeCount
    figures.update(_.copy(changelogMs = millis(begun), changelogBytes = changelog.bytesWritten))
    // The snapshot is all that is durable of such a version.
    val alone = !changelog.kept && !lastIsNear
    if (checkpoint.isDefined) {
      val run = checkpointRun(changelog.ref)
      val syncMs = millis(begun)
      if (alone) run.acknowledge(checkpoint.get, syncMs).foreach { e => drop(); throw e }
      else pool.submit(() => run.acknowledge(checkpoint.get, syncMs): Unit)
    } else if (lastIsNear) {
      // Snapshots are the coordinator's to ask for.
    } else if (forceSnapshot || alone) {
      held.claimSnapshotWaiting()
      try snapshots.ofPolicy(held, changelog.ref).upload(rethrow = true)
      catch { case e: Throwable if alone => drop(); throw e }
    } else if (settings.policy.due(held.distance, held.changelogBytes, held.snapshot.fold(0L)(_.stateBytes))) {
      // One at a time: a slow store must not gather work.
      if (held.claimSnapshot()) {
        val run = snapshots.ofPolicy(held, changelog.ref)
        pool.submit(() => run.upload(rethrow = false))
      }
    }
    figures.update(_.copy(commitMs = millis(begun)))
    owing.committed(owed.map(due =>
      OwedSnapshot.Debt(due.checkpoint, due.listener, () => checkpointRun(changelog.ref))
    ))
    changelog.ref
  }

  /** Between two batches: makes a snapshot of the version committed last in the background, and tells this how it went.
    *
    * @return
    *   false, and nothing is done: another version is held, or the next one was opened for changes, or it is in storage
    *   without a checkpoint
    */
  def checkpoint(ref: VersionRef, to: SnapshotListener): Boolean = {
    val isHeld = !isClosed && held != null && writer == null && lastIsNear && current.contains(ref)
    val isNew = isHeld && !held.snapshot.exists(_.ref == ref)
    if (isNew) {
      val begun = System.nanoTime()
      owing.begin()
      try {
        val run = checkpointRun(ref)
        val syncMs = millis(begun)
        pool.submit(() => run.acknowledge(to, syncMs): Unit)
      } finally owing.end()
    }
    isNew
  }

  private def checkpointRun(ref: VersionRef): SnapshotRun = snapshots.ofCheckpoint(held, ref, alone = lastIsNear)

  /** Forgets the changes since `load`. Harmless when there are none. */
  def abort(): Unit = if (held != null && !isClosed) {
    if (dirty || (writer != null && writer.bytesWritten > 0)) abandon()
    owing.end()
  }

  private def abandon(): Unit = {
    if (writer != null) writer.abandon()
    drop()
  }

  private def drop(): Unit = if (held != null) {
    owing.forget()
    endRetired()
    // The batch that is run again must not take the snapshot of its first attempt along: its task may have ended well.
    held.retire()
    retired = Some(held).filterNot(_.isClosed)
    held = null
  }

  /** A thread that is interrupted does not wait, and leaves nothing open. */
  private def endRetired(): Unit = {
    retired.foreach { state =>
      try state.awaitTaken(VersionedState.CloseWaitMs)
      catch { case _: InterruptedException => Thread.currentThread().interrupt() }
      finally state.close()
    }
    retired = None
  }

  /** Versions from this one on stay: what waits for them will name their files, and has not done so. None: nothing
    * waits.
    */
  def keepFrom(version: Option[Long]): Unit = oldestAwaited = version.getOrElse(Long.MaxValue)

  /** Removes what no kept version needs (docs/FORMAT.md section 7), unless a coordinator does. Any thread; reads and
    * deletes in storage only.
    */
  def cleanUp(): Unit = {
    val state = held
    if (state != null && !isClosed && !isCoordinated) {
      state.ref.foreach(newest =>
        new Retention(storage, settings, pinned).run(newest, state.recent, oldestAwaited)
      )
    }
  }

  /** Waits for a snapshot that is being made, so long at most. Whether none is left. Any thread. */
  def awaitSnapshot(millis: Long = Long.MaxValue): Boolean = {
    val state = held
    state == null || state.awaitSnapshot(millis)
  }

  /** Waits a while for a snapshot that is being made: what it uploaded would otherwise lie around for a day. */
  override def close(): Unit = if (!isClosed) {
    isClosed = true
    owing.begin()
    try {
      awaitSnapshot(VersionedState.CloseWaitMs): Unit
      uploads.foreach(_.await(VersionedState.CloseWaitMs))
    } catch {
      case _: InterruptedException => Thread.currentThread().interrupt()
    } // told to hurry: what it owns goes all the same
    finally {
      try if (writer != null && dirty) writer.abandon()
      finally
        try drop()
        finally retired.foreach(_.close())
    }
    log.debug(s"Closed the state in ${storage.location}")
  }

  /** Ends like `close`, but for the state itself: it stays open for its next owner.
    *
    * @param home
    *   owner of its local files; closed after the state
    * @return
    *   None, and all is closed: no version is held that this would want, it was changed, or a snapshot is being made
    */
  def leave(home: AutoCloseable)(wanted: VersionRef => Boolean): Option[OpenState] = {
    val isWhole = !isClosed && held != null && !dirty && held.backend.isSound && held.awaitSnapshot(0) &&
      held.ref.exists(wanted) && retired.forall(_.isClosed)
    if (isWhole) {
      isClosed = true
      if (writer != null) writer.abandon()
      owing.forget()
      held.livesIn(home)
      val left = new OpenState(held, origin)
      held = null
      Some(left)
    } else {
      try close()
      finally home.close()
      None
    }
  }

  private def checkOpen(): Unit =
    if (isClosed) throw new StoreClosed(s"The store ${storage.location} is closed.", "nothing: its query has ended.")

  private def millis(begun: Long): Long = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun)
}

private object VersionedState {
  private val CloseWaitMs = 10000L
}
