package io.snapline.snapshot

import java.util.concurrent.{ConcurrentSkipListMap, TimeUnit}

import io.snapline.state.KeyedBackend

/** The version a backend holds, and where it comes from. Owned by one [[VersionedState]], whose thread commits; a snapshot notes its end from a thread of the
  * pool, hence the lock. Owns the backend.
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
  private var written = Mark(from.fold(0)(_.distance), from.fold(0L)(_.changelogBytes))
  private var covered = Mark(0, 0)
  private var busy = false
  private var inFlight = 0L

  /** Versions of this line, and the snapshot each names. Read by clean-up, any thread. */
  val recent = new ConcurrentSkipListMap[java.lang.Long, Option[VersionRef]]

  def ref: Option[VersionRef] = synchronized(newest)

  def version: Long = synchronized(newest.fold(loaded)(_.version))

  def snapshot: Option[HandleMeta] = synchronized(lastSnapshot)

  /** Of rows in the version that were not processed. */
  def inFlightBytes: Long = synchronized(inFlight)

  def tables: Map[String, TableFile] = synchronized(uploaded)

  /** Changelogs since the snapshot. */
  def distance: Int = synchronized(written.changelogs - covered.changelogs)

  /** Their bytes in storage. */
  def changelogBytes: Long = synchronized(written.bytes - covered.bytes)

  /** The snapshot below, changelogs since and their bytes, as of one moment: a snapshot may end meanwhile. */
  def position: (Option[HandleMeta], Int, Long) = synchronized((lastSnapshot, distance, changelogBytes))

  /** What a snapshot of now stands for. */
  def mark: Mark = synchronized(written)

  /** @param length
    *   of the changelog in storage
    */
  def committed(meta: ChangelogMeta, length: Long, retain: Int, inFlightBytes: Long): Unit = synchronized {
    inFlight = inFlightBytes
    newest = Some(meta.ref)
    written = Mark(written.changelogs + 1, written.bytes + length)
    recent.put(meta.ref.version, meta.snapshot)
    while (recent.size > retain + 1) recent.pollFirstEntry(): Unit
  }

  /** The next snapshot may name what it uploads itself, and files of the last one if that is this one. */
  def reuseOnlyOf(base: Option[VersionRef]): Unit = synchronized {
    if (!lastSnapshot.map(_.ref).exists(base.contains)) uploaded = Map.empty
  }

  /** Its local files lie in what this closes; it is closed behind the backend. */
  def livesIn(home: AutoCloseable): Unit = synchronized { homes ::= home }

  /** No thread of the pool may use the backend. */
  override def close(): Unit =
    try backend.close()
    finally synchronized(homes).foreach(_.close())

  /** Whether the caller may make a snapshot now; then it must call `snapshotEnded`. */
  def claimSnapshot(): Boolean = synchronized {
    if (busy) false
    else {
      busy = true
      true
    }
  }

  /** Whether none is being made now. */
  def awaitSnapshot(millis: Long): Boolean = synchronized {
    val begun = System.nanoTime()
    var left = millis
    while (busy && left > 0) {
      wait(math.min(left, 1000))
      left = millis - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun)
    }
    !busy
  }

  def claimSnapshotWaiting(): Unit = synchronized {
    awaitSnapshot(Long.MaxValue): Unit
    busy = true
  }

  /** @param until
    *   the mark at the moment it shows
    */
  def snapshotMade(meta: HandleMeta, until: Mark): Unit = synchronized {
    lastSnapshot = Some(meta)
    covered = until
  }

  /** The next snapshot may name what this one has uploaded. */
  def reuse(meta: HandleMeta): Unit = synchronized {
    uploaded = meta.files.map(file => file.name -> file).toMap
  }

  def snapshotEnded(): Unit = synchronized {
    busy = false
    notifyAll()
  }
}

/** Changelogs written so far since the backend was loaded, those loaded with it included, and their bytes. */
private[snapshot] final case class Mark(changelogs: Int, bytes: Long)
