package io.snapline.snapshot.store

import java.util.concurrent.{CompletableFuture, TimeUnit}

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.StoreClosed
import io.snapline.snapshot.format.{HandleMeta, UidClock, VersionRef}
import io.snapline.snapshot.merged.StoredHandle
import io.snapline.snapshot.upload.{SnapshotFigures, SnapshotListener}
import io.snapline.state.ColumnFamily
import io.snapline.storage.GatedStorage

/** What becomes of a state that one store leaves open and another one wants (docs/notes/015-replays.md,
  * 024-rebalancing.md).
  */
abstract class LeaveOn(backend: TestBackend) extends AnyFunSuite {

  private def withStore(settings: StateSettings = StateSettings(policy = SnapshotPolicy(minChangelogs = 1000)))(
      body: StoreFixture => Unit
  ): Unit = {
    val fixture = new StoreFixture(settings, backend = backend)
    try body(fixture)
    finally {
      fixture.close()
      assert(fixture.localFolders.isEmpty)
    }
  }

  private def put(state: VersionedState, key: String): Unit =
    state.backend.createFamily("default", keyGroups = false, multi = false, internal = false)
      .put(key.getBytes, key.getBytes)

  private def keys(state: VersionedState): Set[String] = {
    val cursor = state.backend.family("default").iterate()
    Iterator.continually(cursor).takeWhile(_.next()).map(at => new String(at.key)).toSet
  }

  private def loaded(fixture: StoreFixture, version: Long, uid: Option[String] = None): VersionedState = {
    val state = fixture.open()
    state.load(version, uid)
    state
  }

  private def commit(
      state: VersionedState,
      version: Long,
      key: String,
      force: Boolean = false,
      leftOpen: LeftOpen = LeftOpen.nothing
  ): VersionRef = {
    state.load(version, None, leftOpen = leftOpen)
    put(state, key)
    state.commit(force)
  }

  /** Commits, and says how the snapshot for a checkpoint went. */
  private def checkpointed(state: VersionedState): CompletableFuture[HandleMeta] = {
    val told = new CompletableFuture[HandleMeta]
    state.commit(checkpoint = Some(new SnapshotListener {
      override def made(handle: StoredHandle, figures: SnapshotFigures, mayReuse: () => Unit): Unit =
        assert(told.complete(handle.meta))
      override def failed(reason: Exception): Unit = assert(told.completeExceptionally(reason))
    })): Unit
    told
  }

  for (uids <- Seq(true, false))
    test(s"the next store goes on with it and loads nothing; storage has all that it makes, with ids: $uids") {
      withStore() { fixture =>
        var state = fixture.open()
        val lefts = (0L until 5L).map { version =>
          val ref = commit(state, version, s"k$version", force = version == 1)
          val left = new LeftState(state)
          state = fixture.open()
          state.load(version + 1, Some(ref.uid).filter(_ => uids), leftOpen = left)
          assert(left.isTaken && !state.stats.loadedFromStorage && state.stats.replayed == 0)
          assert(keys(state) == (0L to version).map(n => s"k$n").toSet)
          left
        }
        val last = commit(state, 5, "k5", force = true)
        val reader = fixture.open()
        reader.load(6, Some(last.uid))
        assert(keys(reader) == (0 to 5).map(n => s"k$n").toSet)
        assert(new StoreAudit(fixture.plainStorage).broken.isEmpty)
        // Its local files may lie in the folder of any of those before.
        assert(!lefts.exists(_.homeIsClosed))
        state.close()
        assert(lefts.forall(_.homeIsClosed))
      }
    }

  test("a snapshot names the table files that the store before has uploaded") {
    withStore() { fixture =>
      val first = fixture.open()
      commit(first, 0, "a", force = true): Unit
      val second = fixture.open()
      commit(second, 1, "b", force = true, leftOpen = new LeftState(first)): Unit
      assert(second.stats.reusedFiles > 0)
    }
  }

  test("under a coordinator it names none but those of the checkpoint that the run was restored from") {
    for (isBase <- Seq(true, false)) withStore() { fixture =>
      val first = fixture.open()
      val ref = commit(first, 0, "a", force = true)
      val (second, left) = (fixture.open(), new LeftState(first))
      second.load(1, Some(ref.uid), interval = true, base = Some(ref).filter(_ => isBase), leftOpen = left)
      assert(!second.stats.loadedFromStorage)
      put(second, "b")
      val told = checkpointed(second)
      val meta = told.get(30, TimeUnit.SECONDS)
      assert((meta.uploadedFiles < meta.files.size) == isBase)
    }
  }

  test("another version, another attempt, and what was changed are no use: storage has what counts") {
    withStore() { fixture =>
      val first = fixture.open()
      commit(first, 0, "a"): Unit
      val other = fixture.open()
      val elsewhere = commit(other, 1, "elsewhere")
      Thread.sleep(2)
      val here = commit(first, 1, "here")
      assert(here.uid > elsewhere.uid)

      def taken(leave: VersionedState, version: Long, uid: Option[String]): Set[String] = {
        val left = new LeftState(leave)
        val state = fixture.open()
        state.load(version, uid, leftOpen = left)
        assert(!left.isTaken && left.homeIsClosed && state.stats.loadedFromStorage)
        keys(state)
      }
      def holder(uid: String): VersionedState = {
        val state = fixture.open()
        state.load(2, Some(uid))
        state
      }
      assert(taken(holder(here.uid), 1, None) == Set("a"))
      assert(taken(holder(here.uid), 2, Some(elsewhere.uid)) == Set("a", "elsewhere"))
      // Without an id the latest attempt counts, wherever it was made.
      assert(taken(holder(elsewhere.uid), 2, None) == Set("a", "here"))
      val changed = holder(here.uid)
      put(changed, "never committed")
      assert(taken(changed, 2, Some(here.uid)) == Set("a", "here"))
    }
  }

  for (uids <- Seq(true, false))
    test(s"an older version takes the changelogs since, and loads nothing, with ids: $uids") {
      withStore() { fixture =>
        val first = fixture.open()
        commit(first, 0, "k0", force = true): Unit
        val left = new LeftState(loaded(fixture, 1))
        val refs = (1L until 4L).map(version => commit(first, version, s"k$version"))
        val state = fixture.open()
        state.load(4, Some(refs.last.uid).filter(_ => uids), leftOpen = left)
        assert(left.isTaken && !state.stats.loadedFromStorage && state.stats.replayed == 3)
        assert(keys(state) == (0 until 4).map(n => s"k$n").toSet && state.backend.family("default").keyCount == 4)
        put(state, "k4")
        val last = state.commit(forceSnapshot = true)
        // The snapshot below is the one that it was loaded from, whose files storage has. A small heap writes an image.
        assert(backend != TestBackend.RocksDb || state.stats.reusedFiles > 0)
        assert(keys(loaded(fixture, 5, Some(last.uid))) == (0 until 5).map(n => s"k$n").toSet)
        assert(new StoreAudit(fixture.plainStorage).broken.isEmpty)
      }
    }

  test("a snapshot made elsewhere since is the one below, and none of its files is named again") {
    withStore(StateSettings(retain = 1, minStale = 1, policy = SnapshotPolicy(minChangelogs = 1000))) { fixture =>
      val first = fixture.open()
      commit(first, 0, "a", force = true): Unit
      val left = new LeftState(loaded(fixture, 1))
      val refs = (1 to 5).map(version => commit(first, version, s"k$version", force = version == 3))
      first.cleanUp()
      val state = fixture.open()
      state.load(6, Some(refs.last.uid), leftOpen = left)
      // The changelogs up to the snapshot are gone, and those above it alone lead nowhere.
      assert(!left.isTaken && left.homeIsClosed && state.stats.loadedFromStorage)
      val later = new LeftState(loaded(fixture, 4))
      put(state, "b")
      state.commit(forceSnapshot = true): Unit
      val ref = commit(state, 7, "d")
      val next = fixture.open()
      next.load(8, Some(ref.uid), leftOpen = later)
      assert(later.isTaken && next.stats.replayed == 4)
      put(next, "c")
      val last = next.commit(forceSnapshot = true)
      assert(next.stats.reusedFiles == 0 && next.stats.snapshotFiles > 0)
      state.close()
      next.cleanUp()
      assert(keys(loaded(fixture, 9, Some(last.uid))) == Set("a", "b", "c", "d") ++ (1 to 5).map(n => s"k$n"))
      assert(new StoreAudit(fixture.plainStorage).broken.isEmpty)
    }
  }

  test("one that has made versions itself has its own changes before those of others") {
    withStore() { fixture =>
      def rows(of: VersionedState): ColumnFamily =
        of.backend.createFamily("default", keyGroups = false, multi = false, internal = false)
      def lists(of: VersionedState): ColumnFamily =
        of.backend.createFamily("lists", keyGroups = false, multi = true, internal = false)
      def put(of: VersionedState, key: String, value: String): Unit = rows(of).put(key.getBytes, value.getBytes)
      def merge(of: VersionedState, value: String): Unit = lists(of).merge("m".getBytes, value.getBytes)
      def made(of: VersionedState, version: Long)(body: => Unit): VersionRef = {
        of.load(version, None)
        body
        of.commit()
      }
      val first = fixture.open()
      made(first, 0) {
        put(first, "k", "old")
        merge(first, "a")
      }: Unit
      made(first, 1) {
        rows(first).delete("k".getBytes): Unit
        merge(first, "b")
        put(first, "r1", "within")
      }: Unit
      val left = new LeftState(first)
      val elsewhere = fixture.open()
      made(elsewhere, 2) {
        put(elsewhere, "k", "new")
        merge(elsewhere, "c")
        rows(elsewhere).deleteRange("r".getBytes, "s".getBytes)
      }: Unit
      val state = fixture.open()
      state.load(3, None, leftOpen = left)
      assert(left.isTaken && state.stats.replayed == 1)
      def check(of: VersionedState): Unit = {
        assert(keys(of) == Set("k") && rows(of).keyCount == 1)
        assert(new String(rows(of).get("k".getBytes)) == "new")
        val cursor = lists(of).iterate()
        assert(cursor.next() && new String(cursor.value) == "abc" && !cursor.next())
      }
      check(state)
      merge(state, "")
      val last = state.commit(forceSnapshot = true)
      check(loaded(fixture, 4, Some(last.uid)))
    }
  }

  test("a snapshot that is being uploaded keeps its files when the state is loaded anew, and the home goes behind it") {
    var gate: GatedStorage = null
    val settings = StateSettings(policy = SnapshotPolicy(minChangelogs = 1000))
    val fixture =
      new StoreFixture(settings, storageOf = plain => { gate = new GatedStorage(plain); gate }, backend = backend)
    try {
      val first = fixture.open()
      val ref = commit(first, 0, "a", force = true)
      val left = new LeftState(first)
      val second = fixture.open()
      second.load(1, Some(ref.uid), interval = true, leftOpen = left)
      assert(left.isTaken)
      put(second, "b")
      gate.hold(".handle")
      val told = checkpointed(second)
      gate.awaitArrival()
      // The batch is run again.
      second.load(1, Some(ref.uid), interval = true)
      assert(!left.homeIsClosed)
      gate.release()
      assert(told.get(30, TimeUnit.SECONDS).ref.version == 2)
      second.close()
      // The thread that made the snapshot closes it, behind what it has told.
      val until = System.nanoTime() + TimeUnit.SECONDS.toNanos(30)
      while (!left.homeIsClosed && System.nanoTime() < until) Thread.sleep(5)
      assert(left.homeIsClosed)
    } finally fixture.close()
  }

  test("a version that does not come of it is loaded") {
    withStore() { fixture =>
      val first = fixture.open()
      commit(first, 0, "a"): Unit
      val other = fixture.open()
      val elsewhere = commit(other, 1, "elsewhere")
      commit(first, 1, "here"): Unit
      val counts = commit(first, 2, "more")
      val left = new LeftState(loaded(fixture, 2, Some(elsewhere.uid)))
      val state = fixture.open()
      state.load(3, Some(counts.uid), leftOpen = left)
      assert(!left.isTaken && left.homeIsClosed && state.stats.loadedFromStorage)
      assert(keys(state) == Set("a", "here", "more"))
    }
  }

  test("the next attempt is later than one that an executor made whose clock is ahead") {
    for (behind <- 0 to 1) withStore() { fixture =>
      val first = fixture.open()
      commit(first, 0, "a"): Unit
      val left = new LeftState(loaded(fixture, 1))
      (1 to behind).foreach(version => commit(first, version.toLong, s"k$version"))
      val fast = fixture.open(clock = new UidClock(() => System.currentTimeMillis() + 3600000))
      val old = commit(fast, 1L + behind, "old")
      val state = fixture.open()
      state.load(1L + behind, None, leftOpen = left)
      assert(left.isTaken && state.stats.replayed == behind)
      put(state, "new")
      assert(state.commit().uid > old.uid)
      assert(keys(loaded(fixture, 2L + behind)).contains("new"))
    }
  }

  test("an older version waits for a changelog that another executor is copying") {
    withStore() { fixture =>
      val first = fixture.open()
      commit(first, 0, "a"): Unit
      val left = new LeftState(loaded(fixture, 1))
      val state = fixture.open()
      val copying = CompletableFuture.runAsync { () =>
        Thread.sleep(300)
        commit(first, 1, "b"): Unit
      }
      state.load(2, None, interval = true, leftOpen = left, covered = Some(0))
      copying.get(30, TimeUnit.SECONDS)
      assert(left.isTaken && state.stats.replayed == 1 && keys(state) == Set("a", "b"))
    }
  }

  test("a store that has left is closed, one that holds nothing leaves nothing") {
    withStore() { fixture =>
      val first = fixture.open()
      val ref = commit(first, 0, "a")
      var homeIsClosed = false
      val left = first.leave(() => homeIsClosed = true)(_ == ref)
      assert(first.current.isEmpty)
      intercept[StoreClosed](first.load(1, None))
      first.close()
      assert(left.exists(_.held.backend.family("default").contains("a".getBytes)))
      assert(!homeIsClosed)
      left.foreach(_.close())
      assert(homeIsClosed)

      homeIsClosed = false
      assert(fixture.open().leave(() => homeIsClosed = true)(_ => true).isEmpty && homeIsClosed)
      assert(first.leave(() => ())(_ => true).isEmpty)
    }
  }
}

class LeaveSpec extends LeaveOn(TestBackend.RocksDb)

class LeaveOnHashMapSpec extends LeaveOn(TestBackend.HashMap)
