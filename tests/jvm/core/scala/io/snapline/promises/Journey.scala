package io.snapline.promises

import scala.annotation.tailrec

import io.snapline.error.SnaplineException
import io.snapline.snapshot.format.VersionRef
import io.snapline.snapshot.store.{SnapshotPolicy, StateSettings, StoreAudit, StoreFixture, VersionedState}

/** A short life of a store, as Spark would lead it: batches with a snapshot now and then, clean-up, and a new process
  * in the middle.
  *
  * An attempt that fails is reported, aborted and made again, with other content: a file of the failed one must not
  * pass for it.
  */
final class Journey(fixture: StoreFixture) {
  import Journey._

  private var committed = Map(0L -> Map.empty[String, String])
  private var refs = Map.empty[Long, VersionRef]
  private var version = 0L
  private var attempt = 0

  /** Errors that were reported, all of them with a code. */
  var errors = Vector.empty[SnaplineException]

  def newest: Long = version

  /** Two processes, one after another. */
  def run(): Unit = {
    life(3)
    life(Versions)
  }

  private def life(until: Long): Unit = {
    val state = fixture.open()
    try {
      while (version < until) {
        batch(state)
        state.awaitSnapshot()
        patiently(state.cleanUp())
      }
    } finally {
      state.awaitSnapshot()
      state.close()
    }
  }

  private def batch(state: VersionedState): Unit = patiently {
    attempt += 1
    try {
      // A batch that starts from nothing leaves the table files before it to clean-up.
      val empty = version == 1
      state.load(version, if (version % 2 == 0) None else refs.get(version).map(_.uid), empty)
      val before = if (empty) Map.empty[String, String] else committed(version)
      assert(content(state) == before, s"version $version as loaded in attempt $attempt")
      val family = state.backend.createFamily("default", keyGroups = false, multi = false, internal = false)
      var now = before
      (0 until 8).foreach { i =>
        val (key, value) = (s"k${(version * 3 + i) % Keys}", s"$version-$attempt-$i")
        family.put(key.getBytes("UTF-8"), value.getBytes("UTF-8"))
        now += key -> value
      }
      val gone = s"k${(version * 7) % Keys}"
      if (family.delete(gone.getBytes("UTF-8"))) now -= gone
      val ref = state.commit(forceSnapshot = version % 4 == 0)
      assert(ref.version == version + 1)
      version += 1
      refs += version -> ref
      committed += version -> now
    } catch { case e: SnaplineException => state.abort(); throw e }
  }

  /** A task is tried four times, as Spark does by default. */
  private def patiently(body: => Unit): Unit = {
    @tailrec def again(left: Int): Unit = {
      val failed =
        try { body; None }
        catch { case e: SnaplineException => errors :+= e; if (left == 0) throw e else Some(e) }
      if (failed.isDefined) again(left - 1)
    }
    again(3)
  }

  /** Every version that is kept loads with what was committed, in a process of its own, and another attempt can follow:
    * what there is of versions nobody was told of does not pass for it.
    */
  def check(from: StoreFixture): Unit = {
    val audit = new StoreAudit(from.plainStorage)
    assert(audit.broken.isEmpty, "what a handle names")
    val state = from.open()
    try {
      (math.max(1, version - Retained + 1) to version).foreach { v =>
        val uid = if (v % 2 == 0) Some(refs(v).uid) else None
        state.load(v, uid)
        assert(content(state) == committed(v), s"version $v of $version, by ${uid.getOrElse("no id")}")
      }
      batch(state)
    } finally state.close()
    val again = from.open()
    try {
      again.load(version, None)
      assert(content(again) == committed(version), "one more version")
    } finally again.close()
  }

  /** By key, which is cheap: a scan would open RocksDB. */
  private def content(state: VersionedState): Map[String, String] =
    Option(state.backend.family("default")).fold(Map.empty[String, String]) { family =>
      val found = (0 until Keys).flatMap { i =>
        Option(family.get(s"k$i".getBytes("UTF-8"))).map(value => s"k$i" -> new String(value, "UTF-8"))
      }
      assert(found.size == family.keyCount)
      found.toMap
    }
}

object Journey {
  val Versions = 7L
  val Retained = 2
  private val Keys = 20

  val settings: StateSettings =
    StateSettings(retain = Retained, minStale = 0, policy = SnapshotPolicy(minChangelogs = 2))
}
