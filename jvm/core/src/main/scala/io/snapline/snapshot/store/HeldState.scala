package io.snapline.snapshot.store

import java.util.concurrent.TimeUnit

import io.snapline.snapshot.format._
import io.snapline.state.KeyedBackend

/** The version a backend holds, and where it comes from. Owned by one [[VersionedState]], whose thread commits; a
  * snapshot notes its end from a thread of the pool, hence the lock. Owns the backend.
  *
  * @param loaded
  *   the version Spark asked for
  * @param from
  *   None: it began as the empty store
  */
private[snapshot] final class HeldState(
    loaded: Long,
    val backend: KeyedBackend,
    from: Option[Restored]
) extends AutoCloseable {
  private var homes = List.empty[AutoCloseable]
  private var newest: Option[VersionRef] = from.map(_.ref)
  private var lastSnapshot: Option[HandleMeta] = from.flatMap(_.snapshot)
  private var uploaded: Map[String, TableFile] = from.fold(Map.empty[String, TableFile])(_.tables)

  /** System.nanoTime of the newest snapshot, while it is not known whether its files may be named again. */
  private var unanswered = Option.empty[Long]
  private var written = Mark(from.fold(0)(_.distance), from.fold(0L)(_.changelogBytes))
  private var covered = Mark(0, 0)
  private var busy = false

  /** Snapshots for checkpoints that were begun, and still have to be taken from the backend. */
  private var untaken = 0
  private var isRetired = false
  private var isOver = false
  private var inFlight = 0L

  /** The version asked for last: it was made by a batch that has ended. */
  private var asked = loaded
  private var superseding: Option[VersionRef] = None

  /** The snapshots of this line's versions in storage. Clean-up reads it, from any thread. */
  val recent = new RecentSnapshots

  def ref: Option[VersionRef] = synchronized(newest)

  def version: Long = synchronized(newest.fold(loaded)(_.version))

  def snapshot: Option[HandleMeta] = synchronized(lastSnapshot)

  /** Bytes of the version's in-flight data. */
  def inFlightBytes: Long = synchronized(inFlight)

  def tables: Map[String, TableFile] = synchronized(uploaded)

  /** Changelogs since the snapshot. */
  def distance: Int = synchronized(written.changelogs - covered.changelogs)

  /** Their bytes in storage. */
  def changelogBytes: Long = synchronized(written.bytes - covered.bytes)

  /** The snapshot below, changelogs since and their bytes, as of one moment: a snapshot may end meanwhile. */
  def position: (Option[HandleMeta], Int, Long) = synchronized((lastSnapshot, distance, changelogBytes))

  /** The changes that a snapshot taken now covers. */
  def mark: Mark = synchronized(written)

  /** The meta of the changelog that makes the next version of this one. */
  def changelogMeta(changelog: ChangelogWriter, origin: Origin): ChangelogMeta = {
    val (snapshot, distance, bytes) = position
    ChangelogMeta(
      changelog.ref,
      ref,
      snapshot.map(_.ref),
      backend.families.map(f => FamilyState(f.descriptor, f.keyCount)),
      changelog.entries,
      changelog.rawBytes,
      distance + 1,
      bytes + changelog.bytesWritten,
      System.currentTimeMillis(),
      origin
    )
  }

  /** @param length
    *   size of the changelog in bytes
    * @param retain
    *   number of versions in storage that clean-up keeps; None: this one is not in storage
    */
  def committed(meta: ChangelogMeta, length: Long, retain: Option[Int], inFlightBytes: Long): Unit = synchronized {
    inFlight = inFlightBytes
    newest = Some(meta.ref)
    written = Mark(written.changelogs + 1, written.bytes + length)
    retain match {
      case Some(versions) => recent.add(meta.ref.version, meta.snapshot, versions)
      case None => recent.clear()
    }
  }

  /** Changelogs that another store has written were applied.
    *
    * @param last
    *   the newest of them
    * @param snapshot
    *   the one below it
    */
  def caughtUp(last: ChangelogMeta, snapshot: Option[HandleMeta]): Unit = synchronized {
    newest = Some(last.ref)
    asked = last.ref.version
    // A snapshot made elsewhere has files of another backend, which may bear names of this one's.
    if (snapshot.map(_.ref) != lastSnapshot.map(_.ref)) uploaded = Map.empty
    lastSnapshot = snapshot
    written = Mark(last.snapshotDistance, last.changelogBytes)
    covered = Mark(0, 0)
  }

  /** The version held is loaded, maybe once more: the next batch begins, and no other batch is run again. */
  def begun(): Unit = synchronized { asked = version }

  /** The snapshot below which nobody loads anything any more; each is told once. */
  def superseded(): Option[VersionRef] = synchronized {
    val now = lastSnapshot.map(_.ref).filter(ref => ref.version <= asked && !superseding.contains(ref))
    if (now.isDefined) superseding = now
    now
  }

  /** The next snapshot may name what it uploads itself, and files of the last one if that is this one. */
  def reuseOnlyOf(base: Option[VersionRef]): Unit = synchronized {
    if (!lastSnapshot.map(_.ref).exists(base.contains)) uploaded = Map.empty
  }

  /** Its local files lie in what this closes; it is closed behind the backend, and behind the last snapshot. */
  def livesIn(home: AutoCloseable): Unit = synchronized { homes ::= home }

  /** A snapshot for a checkpoint begins; `snapshotTaken` follows. */
  def snapshotBegun(): Unit = synchronized { untaken += 1 }

  /** The backend is not needed for it any more. */
  def snapshotTaken(): Unit = {
    val isLast = synchronized {
      untaken -= 1
      notifyAll()
      isRetired && untaken == 0
    }
    if (isLast) close()
  }

  /** Waits, so long at most, until the backend is not needed for snapshots any more. */
  def awaitTaken(millis: Long): Unit = synchronized(await(millis)(untaken == 0)): Unit

  /** Closes it as soon as all snapshots that were begun are taken: they are of versions that may count. */
  def retire(): Unit = if (synchronized { isRetired = true; untaken == 0 }) close()

  def isClosed: Boolean = synchronized(isOver)

  /** A snapshot that is not taken by now fails. */
  override def close(): Unit = {
    val isFirst = synchronized {
      val first = !isOver
      isOver = true
      first
    }
    if (isFirst) {
      try backend.close()
      finally closeHomes()
    }
  }

  /** Files of a snapshot that is being uploaded lie in them: they stay until it has ended. */
  private def closeHomes(): Unit = {
    val free = synchronized {
      val all = if (isOver && !busy) homes else Nil
      if (all.nonEmpty) homes = Nil
      all
    }
    free.foreach(_.close())
  }

  /** Whether the caller may make a snapshot, maybe when a thread is free; then it must call `snapshotEnded`.
    *
    * It may not while one for a checkpoint waits for a thread. That one takes its turn on a thread of the pool
    * (`claimSnapshotWaiting`). It must never wait there for one that stands behind it in the pool's queue.
    */
  def claimSnapshot(): Boolean = synchronized {
    if (busy || untaken > 0) false
    else {
      busy = true
      true
    }
  }

  /** Whether none is being made now. */
  def awaitSnapshot(millis: Long): Boolean = synchronized(await(millis)(!busy))

  private def await(millis: Long)(done: => Boolean): Boolean = {
    val begun = System.nanoTime()
    var left = millis
    while (!done && left > 0) {
      wait(math.min(left, 1000))
      left = millis - millisSince(begun)
    }
    done
  }

  private def millisSince(nanos: Long): Long = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - nanos)

  /** Waits for the snapshot that is being made; `snapshotEnded` must follow. Waits a moment for the answer about it as
    * well, which is on its way: without it, this one would upload all files anew.
    */
  def claimSnapshotWaiting(): Unit = synchronized {
    awaitSnapshot(Long.MaxValue): Unit
    busy = true
    unanswered.foreach(made => await(HeldState.AnswerMs - millisSince(made))(unanswered.isEmpty))
  }

  /** @param until
    *   the mark at the moment it shows
    * @param isAwaited
    *   a coordinator has to say whether its files may be named again. The coordinator may hold this snapshot in the
    *   place of those before it, and delete their files.
    */
  def snapshotMade(meta: HandleMeta, until: Mark, isAwaited: Boolean): Unit = synchronized {
    lastSnapshot = Some(meta)
    covered = until
    if (isAwaited) {
      uploaded = Map.empty
      unanswered = Some(System.nanoTime())
    }
  }

  /** The next snapshot may name what this one has uploaded, unless another one was made since. */
  def reuse(meta: HandleMeta): Unit = synchronized {
    if (lastSnapshot.exists(_.ref == meta.ref)) {
      uploaded = meta.files.map(file => file.name -> file).toMap
      unanswered = None
      notifyAll()
    }
  }

  def snapshotEnded(): Unit = {
    synchronized {
      busy = false
      notifyAll()
    }
    closeHomes()
  }
}

private object HeldState {

  /** Longer than a driver takes to answer. An answer that says no is not told. */
  val AnswerMs = 2000L
}

/** Changelogs written so far since the backend was loaded, those loaded with it included, and their bytes. */
private[snapshot] final case class Mark(changelogs: Int, bytes: Long)
