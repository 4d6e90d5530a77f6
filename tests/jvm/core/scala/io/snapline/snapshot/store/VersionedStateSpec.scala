package io.snapline.snapshot.store

import java.io.File
import java.lang.reflect.{InvocationTargetException, Proxy}

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error._
import io.snapline.snapshot.format.{StateFiles, UidClock, VersionRef}
import io.snapline.state.KeyedBackend
import io.snapline.storage.{Fault, FaultPlan, FaultyFileSystem}

/** What loads, commits and aborts do in the orders Spark may bring them in. */
abstract class VersionedStateOn(backend: TestBackend) extends AnyFunSuite {

  private def withStore(settings: StateSettings = StateSettings(policy = SnapshotPolicy(minChangelogs = 1000)))(
      body: StoreFixture => Unit
  ): Unit = {
    val fixture = new StoreFixture(settings, storageOf = FaultyFileSystem.over, backend = backend)
    try body(fixture)
    finally {
      fixture.close()
      assert(fixture.localFolders.isEmpty)
    }
  }

  private def put(state: VersionedState, key: String, value: String): Unit =
    state.backend.createFamily("default", keyGroups = false, multi = false, internal = false).put(
      key.getBytes,
      value.getBytes
    )

  private def get(state: VersionedState, key: String): Option[String] =
    Option(state.backend.family("default")).flatMap(family => Option(family.get(key.getBytes))).map(new String(_))

  private def commit(state: VersionedState, version: Long, value: String, force: Boolean = false): VersionRef = {
    state.load(version, None)
    put(state, "k", value)
    state.commit(force)
  }

  test("an abort after a commit takes nothing back") {
    withStore() { fixture =>
      val state = fixture.open()
      val ref = commit(state, 0, "a")
      state.abort()
      state.abort()
      val other = fixture.open()
      other.load(1, Some(ref.uid))
      assert(get(other, "k").contains("a"))
      state.load(1, None)
      assert(get(state, "k").contains("a"))
    }
  }

  test("a state that is not sound any more is loaded anew by the next attempt at the batch") {
    withStore() { fixture =>
      @volatile var isSound = true
      def unreliable(real: KeyedBackend): KeyedBackend = Proxy.newProxyInstance(
        getClass.getClassLoader,
        Array(classOf[KeyedBackend]),
        (_, method, arguments) =>
          if (method.getName == "isSound") Boolean.box(isSound && real.isSound)
          else
            try method.invoke(real, Option(arguments).toSeq.flatten: _*)
            catch { case e: InvocationTargetException => throw e.getCause }
      ).asInstanceOf[KeyedBackend]
      val factory = new BackendFactory {
        override def kind: String = fixture.factory.kind
        override def newFolder(): File = fixture.factory.newFolder()
        override def open(folder: File, restored: Boolean): KeyedBackend =
          unreliable(fixture.factory.open(folder, restored))
      }
      val context = StoreContext(fixture.storage, fixture.settings, StoreFixture.origin, None, new UidClock)
      val state = new VersionedState(context, factory, StoreFixture.pool, _ => ())
      try {
        commit(state, 0, "a"): Unit
        state.load(1, None)
        assert(!state.stats.loadedFromStorage)
        isSound = false
        state.abort()
        state.load(1, None)
        assert(state.stats.loadedFromStorage && get(state, "k").contains("a"))
      } finally state.close()
    }
  }

  test("a load without an abort forgets the changes, and their file") {
    withStore() { fixture =>
      val state = fixture.open()
      commit(state, 0, "a"): Unit
      state.load(1, None)
      // Enough for the changelog to be begun.
      (0 until 2000).foreach(i => put(state, s"k$i", "x" * 1000))
      assert(fixture.fileNames.size == 2)
      state.load(1, None)
      assert(get(state, "k").contains("a") && get(state, "k1").isEmpty)
      assert(fixture.fileNames.size == 1)
    }
  }

  test("a forced snapshot that fails fails the commit; a retry makes another version") {
    withStore() { fixture =>
      val state = fixture.open()
      commit(state, 0, "a"): Unit
      val operations = FaultPlan.none
      FaultyFileSystem.run(operations)(commit(state, 1, "b", force = true): Unit)
      val at = operations.operations.indexWhere(o => o.startsWith("close") && o.endsWith(".sst"))
      assert(at >= 0)
      FaultyFileSystem.run(new FaultPlan(at, Fault.Before)) {
        intercept[StorageFailure](commit(state, 1, "c", force = true))
        state.abort()
      }
      val ref = commit(state, 1, "d", force = true)
      val other = fixture.open()
      other.load(2, None)
      assert(get(other, "k").contains("d") && other.current.contains(ref))
      assert(new StoreAudit(fixture.plainStorage).broken.isEmpty)
    }
  }

  test("two processes commit one version: the id tells them apart, without one the latest is taken") {
    withStore() { fixture =>
      val (first, second) = (fixture.open(), fixture.open())
      commit(first, 0, "base"): Unit
      first.load(1, None)
      second.load(1, None)
      put(first, "k", "first")
      put(second, "k", "second")
      val (a, b) = (first.commit(), second.commit())
      assert(a.version == b.version && a.uid != b.uid)
      for (
        (uid, expected) <-
          Seq(Some(a.uid) -> "first", Some(b.uid) -> "second", None -> (if (a.uid > b.uid) "first" else "second"))
      ) {
        val reader = fixture.open()
        reader.load(2, uid)
        assert(get(reader, "k").contains(expected))
      }
      // The one that is asked for by id is fetched though another attempt is held.
      first.load(2, Some(b.uid))
      assert(get(first, "k").contains("second") && first.stats.loadedFromStorage)
      // A line goes on from whichever it was loaded from.
      val next = commit(first, 2, "third")
      val reader = fixture.open()
      reader.load(3, Some(next.uid))
      assert(get(reader, "k").contains("third"))
    }
  }

  test("a version that is made anew sorts after the ones it replaces, though the clock runs behind") {
    withStore() { fixture =>
      def open(now: Long): VersionedState =
        new VersionedState(
          StoreContext(fixture.storage, fixture.settings, StoreFixture.origin, clock = new UidClock(() => now)),
          fixture.factory,
          StoreFixture.pool,
          _ => ()
        )
      val ahead = open(2000000000000L)
      (0L to 3L).foreach(version => commit(ahead, version, s"ahead $version"): Unit)
      ahead.close()
      val behind = open(1000000000000L)
      (1L to 3L).foreach(version => commit(behind, version, s"behind $version"): Unit)
      behind.close()
      val fromNothing = open(1000L)
      commit(fromNothing, 0, "nothing"): Unit
      fromNothing.close()
      val reader = fixture.open()
      reader.load(4, None)
      assert(get(reader, "k").contains("behind 3"))
      reader.load(1, None)
      assert(get(reader, "k").contains("nothing"))
    }
  }

  test("a version that begins empty passes for no version in storage") {
    withStore() { fixture =>
      val state = fixture.open()
      (0L until 3L).foreach(version => commit(state, version, s"v$version"): Unit)
      state.load(3, None, empty = true)
      assert(get(state, "k").isEmpty && state.current.isEmpty)
      state.load(3, None)
      assert(get(state, "k").contains("v2"))
      state.load(3, None, empty = true)
      put(state, "other", "x")
      val ref = state.commit(forceSnapshot = true)
      val reader = fixture.open()
      reader.load(4, Some(ref.uid))
      assert(get(reader, "k").isEmpty && get(reader, "other").contains("x"))
    }
  }

  test("a version, an id or a snapshot that is not there is not found") {
    withStore() { fixture =>
      val state = fixture.open()
      intercept[StateNotFound](state.load(1, None))
      val ref = commit(state, 0, "a", force = true)
      intercept[StateNotFound](state.load(2, None))
      intercept[StateNotFound](state.load(1, Some("019a2b3c-4d5e-7f60-8123-456789abcdef")))
      intercept[StateNotFound](state.loadFrom(3, None, 5, None))
      intercept[StoreClosed](state.backend)
      state.loadFrom(1, Some(ref.uid), 1, None)
      assert(get(state, "k").contains("a"))
    }
  }

  test("a chosen snapshot is the one that is loaded from, or none is") {
    withStore() { fixture =>
      val state = fixture.open()
      val refs = (0L until 6L).map(version =>
        commit(state, version, s"v$version", force = version == 1 || version == 3)
      )
      Seq(2L, 4L).foreach { snapshot =>
        state.loadFrom(snapshot, None, 6, Some(refs(5).uid))
        assert(get(state, "k").contains("v5"))
      }
      intercept[StateNotFound](state.loadFrom(3, None, 6, None))
      fixture.plainStorage.delete(refs(2).changelogName)
      intercept[SnaplineException](state.loadFrom(2, None, 6, None))
      state.loadFrom(4, None, 6, None)
      assert(get(state, "k").contains("v5"))
    }
  }

  test("a closed store says so, and closing twice is harmless") {
    withStore() { fixture =>
      val state = fixture.open()
      commit(state, 0, "a"): Unit
      state.load(1, None)
      put(state, "k", "b")
      state.close()
      state.close()
      state.abort()
      state.cleanUp()
      intercept[StoreClosed](state.load(1, None))
      intercept[StoreClosed](state.commit())
      assert(fixture.fileNames.size == 1 && fixture.memoryUsed == 0)
    }
  }

  test("distances and bytes since the snapshot are those of the line") {
    withStore(StateSettings(policy = SnapshotPolicy(minChangelogs = 3))) { fixture =>
      val state = fixture.open()
      val refs = (0L until 10L).map { version =>
        val ref = commit(state, version, s"v$version")
        state.awaitSnapshot()
        ref
      }
      val files = new StateFiles(fixture.plainStorage)
      val handles = new StoreAudit(fixture.plainStorage).wholeHandles.map(_.ref.version).toSet
      assert(handles == Set(3L, 6L, 9L))
      refs.foreach { ref =>
        val meta = files.changelogMeta(ref)
        val snapshot = handles.filter(_ < ref.version).maxOption
        assert(meta.snapshot.map(_.version) == snapshot)
        assert(meta.snapshotDistance == ref.version - snapshot.getOrElse(0L), s"$ref")
      }
      // Another process goes on counting where it was loaded.
      val next = commit(fixture.open(), 10, "x")
      assert(files.changelogMeta(next).snapshotDistance == 2)
    }
  }
}

class VersionedStateSpec extends VersionedStateOn(TestBackend.RocksDb)

class VersionedStateOnHashMapSpec extends VersionedStateOn(TestBackend.HashMap)

class VersionedStateOnNestedHashMapSpec extends VersionedStateOn(TestBackend.NestedHashMap)
