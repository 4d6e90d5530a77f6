package io.snapline.snapshot.store

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.{StateNotFound, StorageFailure}
import io.snapline.snapshot.format.{HandleMeta, StateFiles, TableFile, VersionRef}
import io.snapline.snapshot.merged.StoredHandle
import io.snapline.snapshot.upload.{SnapshotFigures, SnapshotListener}
import io.snapline.storage.{Fault, FaultPlan, FaultyFileSystem}

/** What settings put into a version's files: a changelog or none, table files of their own or in the handle, earlier
  * ones or new.
  */
class SnapshotContentSpec extends AnyFunSuite {
  private val seldom = SnapshotPolicy(minChangelogs = 1000)

  private def withStore(settings: StateSettings)(body: (StoreFixture, VersionedState) => Unit): Unit = {
    val fixture = new StoreFixture(settings, storageOf = FaultyFileSystem.over)
    try body(fixture, fixture.open())
    finally fixture.close()
  }

  private def commit(state: VersionedState, version: Long, key: String, value: String): VersionRef = {
    state.load(version, None)
    state.backend.createFamily("default", keyGroups = false, multi = false, internal = false)
      .put(key.getBytes, value.getBytes)
    state.commit(forceSnapshot = state.current.exists(_.version % 2 == 0))
  }

  private def get(state: VersionedState, key: String): Option[String] =
    Option(state.backend.family("default").get(key.getBytes)).map(new String(_))

  private def tables(fixture: StoreFixture): Int = fixture.plainStorage.list(TableFile.Folder).size

  private def handle(fixture: StoreFixture, ref: VersionRef): HandleMeta =
    new StateFiles(fixture.plainStorage).handleMeta(ref)

  test("without changelogs each version is a snapshot, and nothing else is written") {
    withStore(StateSettings(changelog = false, policy = seldom)) { (fixture, state) =>
      val refs = (0 until 4).map(version => commit(state, version.toLong, s"k$version", "a"))
      val found = fixture.plainStorage.list("").map(_.name).flatMap(VersionRef.parse)
      assert(found.toSet == refs.map(_ -> VersionRef.Handle).toSet)
      val other = fixture.open()
      other.load(3, Some(refs(2).uid))
      assert(get(other, "k2").contains("a") && get(other, "k3").isEmpty)
    }
  }

  test("without changelogs a snapshot that fails takes the version with it") {
    withStore(StateSettings(changelog = false, policy = seldom)) { (fixture, state) =>
      commit(state, 0, "k", "a"): Unit
      val plan = FaultPlan.none
      FaultyFileSystem.run(plan)(commit(state, 1, "k", "b"): Unit)
      val at = plan.operations.indexWhere(o => o.startsWith("close") && o.endsWith(".handle"))
      assert(at >= 0)
      FaultyFileSystem.run(new FaultPlan(at, Fault.Before)) {
        intercept[StorageFailure](commit(state, 2, "k", "c"))
      }
      intercept[StateNotFound](state.load(3, None))
      state.load(2, None)
      assert(get(state, "k").contains("b"))
    }
  }

  test("without changelogs the commit of a checkpoint waits for its snapshot, and fails with it") {
    withStore(StateSettings(changelog = false, policy = seldom)) { (fixture, state) =>
      var told = Vector.empty[String]
      val listener = new SnapshotListener {
        override def made(handle: StoredHandle, figures: SnapshotFigures, mayReuse: () => Unit): Unit =
          told :+= s"made ${handle.meta.ref.version}"
        override def failed(reason: Exception): Unit = told :+= s"failed ${reason.getClass.getSimpleName}"
      }
      state.load(0, None)
      val ref = state.commit(checkpoint = Some(listener))
      assert(told == Vector("made 1") && handle(fixture, ref).ref == ref)
      state.load(1, None)
      val plan = FaultPlan.none
      FaultyFileSystem.run(plan)(state.commit(checkpoint = Some(listener)): Unit)
      val at = plan.operations.indexWhere(o => o.startsWith("close") && o.endsWith(".handle"))
      state.load(2, None)
      FaultyFileSystem.run(new FaultPlan(at, Fault.Before)) {
        intercept[StorageFailure](state.commit(checkpoint = Some(listener)))
      }
      assert(told.last == "failed StorageFailure")
      intercept[StateNotFound](state.load(3, None))
    }
  }

  test("without changelogs a failed attempt between two checkpoints has nothing to come back to") {
    withStore(StateSettings(changelog = false, policy = seldom)) { (_, state) =>
      state.load(0, None, interval = true)
      state.commit(): Unit
      state.load(1, None, interval = true)
      state.backend.createFamily("default", keyGroups = false, multi = false, internal = false)
        .put("k".getBytes, "a".getBytes)
      state.abort()
      intercept[StateNotFound](state.load(1, None, interval = true))
    }
  }

  test("short table files are in the handle, long ones are not; both come back") {
    withStore(StateSettings(inlineThreshold = 20000, policy = seldom)) { (fixture, state) =>
      (0L until 3L).foreach(version => commit(state, version, s"k$version", "short"))
      val inline = state.current.get
      assert(handle(fixture, inline).files.isEmpty && handle(fixture, inline).local.exists(_._1.endsWith(".sst")))
      assert(tables(fixture) == 0)
      commit(state, 3, "long", new scala.util.Random(1).alphanumeric.take(50000).mkString): Unit
      val mixed = commit(state, 4, "k4", "short")
      assert(handle(fixture, mixed).files.size == 1 && tables(fixture) == 1)
      for ((uid, key) <- Seq(inline.uid -> "k2", mixed.uid -> "long")) {
        val other = fixture.open()
        other.load(if (uid == inline.uid) 3 else 5, Some(uid))
        assert(get(other, key).isDefined && get(other, "k0").contains("short"))
      }
    }
  }

  for (incremental <- Seq(true, false)) {
    test(s"a snapshot names table files of earlier ones: $incremental") {
      withStore(StateSettings(incremental = incremental, policy = seldom)) { (fixture, state) =>
        (0L until 3L).foreach(version => commit(state, version, s"k$version", "a"))
        val first = handle(fixture, state.current.get)
        (3L until 5L).foreach(version => commit(state, version, s"k$version", "a"))
        val second = handle(fixture, state.current.get)
        assert(first.uploadedFiles == first.files.size && first.files.nonEmpty)
        assert(second.files.map(_.uid).intersect(first.files.map(_.uid)).nonEmpty == incremental)
        assert((second.uploadedFiles == second.files.size) == !incremental)
        val other = fixture.open()
        other.load(5, None)
        assert((0 until 5).forall(n => get(other, s"k$n").contains("a")))
      }
    }
  }
}
