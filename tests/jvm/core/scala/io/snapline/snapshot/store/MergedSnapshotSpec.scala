package io.snapline.snapshot.store

import java.io.File
import java.util.concurrent.{CompletableFuture, TimeUnit}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.scalatest.Assertion
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar._

import io.snapline.error.{CheckpointDamaged, StorageFailure}
import io.snapline.snapshot.format.VersionRef
import io.snapline.snapshot.merged.{HandleMerger, MergedFiles, MergedStorage, StoredHandle}
import io.snapline.snapshot.upload.{MergedDestination, NearFolder, SnapshotFigures, SnapshotListener, SnapshotPool}
import io.snapline.storage.{HadoopCheckpointStorage, MemoryStorage}

/** Stores of one executor whose checkpoints go into merged files. */
class MergedSnapshotSpec extends AnyFunSuite with Eventually {

  private final class Outcome extends SnapshotListener {
    private val told = new CompletableFuture[Either[Exception, StoredHandle]]
    override def made(handle: StoredHandle, figures: SnapshotFigures, mayReuse: () => Unit): Unit = {
      mayReuse()
      assert(told.complete(Right(handle)))
    }
    override def failed(reason: Exception): Unit = assert(told.complete(Left(reason)))
    def await(): Either[Exception, StoredHandle] = told.get(60, TimeUnit.SECONDS)
  }

  /** @param threads
    *   of the pool
    */
  private final class Executor(stores: Int, maxFileSize: Long = 1 << 20, threads: Int = 1) extends AutoCloseable {
    val folder = new MemoryStorage
    val merger = new HandleMerger(folder, maxFileSize, "test", lingerMs = 300)
    val pool = new SnapshotPool(threads)
    val fixtures: Seq[StoreFixture] = (0 until stores).map(_ => new StoreFixture(pool = pool))
    private var opened = Seq.empty[VersionedState]

    def store(n: Int): String = s"state/0/$n"

    def storage(n: Int, look: Boolean = true): MergedStorage =
      new MergedStorage(fixtures(n).plainStorage, store(n), new MergedFiles(folder), () => look)

    def open(n: Int, from: MergedStorage): VersionedState = {
      val fixture = fixtures(n)
      val near = new File(fixture.nearFolder(opened.size).getPath)
      val state = new VersionedState(
        StoreContext(
          from,
          fixture.settings,
          StoreFixture.origin,
          near = Some(NearFolder(near, new HadoopCheckpointStorage(new Path(near.toURI), new Configuration)))
        ),
        fixture.factory,
        pool,
        _ => (),
        merged = Some(new MergedDestination(() => merger, store(n), fixture.plainStorage, () => ()))
      )
      opened :+= state
      state
    }

    override def close(): Unit = {
      opened.foreach(_.close())
      fixtures.foreach(_.close())
    }
  }

  private def using(executor: Executor)(body: Executor => Unit): Unit =
    try body(executor)
    finally executor.close()

  private def put(state: VersionedState, key: String, value: String): Unit =
    state.backend.createFamily("default", keyGroups = false, multi = false, internal = false)
      .put(key.getBytes, value.getBytes)

  private def get(state: VersionedState, key: String): Option[String] =
    Option(state.backend.family("default")).flatMap(family => Option(family.get(key.getBytes))).map(new String(_))

  private def checkpoint(state: VersionedState, version: Long, value: String): Outcome = {
    val outcome = new Outcome
    state.load(version, None, interval = true)
    put(state, "k", value)
    put(state, s"k$version", value)
    state.commit(checkpoint = Some(outcome)): Unit
    outcome
  }

  test("one thread serves many stores, and the next checkpoint that is due before the last is durable") {
    using(new Executor(6)) { executor =>
      val states = (0 until 6).map(n => executor.open(n, executor.storage(n)))
      val outcomes = (0L until 4L).flatMap(version => states.map(checkpoint(_, version, s"v$version")))
      val handles = outcomes.map(_.await().fold(throw _, identity))
      assert(handles.forall(_.merged.isDefined))
      val byVersion = handles.groupBy(_.meta.ref.version)
      assert(byVersion.keySet == Set(1L, 2L, 3L, 4L))
      val files = new MergedFiles(executor.folder)
      byVersion.foreach { case (version, of) =>
        assert(files.of(version).flatMap(_.members.map(_.ref)).toSet == of.map(_.meta.ref).toSet)
      }
      assert(executor.fixtures.forall(!_.fileNames.exists(_.endsWith(".handle"))))
    }
  }

  test("any executor loads it, told where it is or not; and what comes after it on this one") {
    using(new Executor(2)) { executor =>
      val states = (0 until 2).map(n => executor.open(n, executor.storage(n)))
      val handles = states.map(checkpoint(_, 0, "first")).map(_.await().fold(throw _, identity))
      val Seq(told, looking) = Seq(executor.storage(1, look = false), executor.storage(1)): @unchecked
      told.learn(handles(1).meta.ref, handles(1).merged.get, handles(1).bytes)
      Seq(told, looking, executor.storage(1, look = false)).foreach { storage =>
        val other = executor.open(1, storage)
        other.load(1, Some(handles(1).meta.ref.uid), interval = true)
        assert(get(other, "k").contains("first"))
      }
      states(1).load(1, None, interval = true)
      put(states(1), "k", "second")
      states(1).commit(): Unit
      states(1).load(2, None, interval = true)
      put(states(1), "k", "never")
      states(1).abort()
      states(1).load(2, None, interval = true)
      assert(get(states(1), "k").contains("second"))
    }
  }

  test("of two attempts at a version the latest counts, wherever it lies") {
    using(new Executor(1)) { executor =>
      val durable = executor.open(0, executor.storage(0))
      durable.load(0, None)
      put(durable, "k", "older")
      durable.commit(): Unit
      checkpoint(executor.open(0, executor.storage(0)), 0, "newer").await().fold(throw _, identity): Unit
      val reader = executor.open(0, executor.storage(0))
      reader.load(1, None)
      assert(get(reader, "k").contains("newer"))
      val last = executor.open(0, executor.storage(0))
      last.load(0, None)
      put(last, "k", "newest")
      last.commit(): Unit
      val again = executor.open(0, executor.storage(0))
      again.load(1, None)
      assert(get(again, "k").contains("newest"))
    }
  }

  test("changelogs that an executor left behind lead to a snapshot that was subsumed: a newer merged one is loaded") {
    using(new Executor(1)) { executor =>
      val storage = executor.storage(0)
      val state = executor.open(0, storage)
      def batch(version: Long, checkpoint: Option[Outcome] = None): VersionRef = {
        state.load(version, None, interval = true, covered = Some(0))
        put(state, "k", s"v$version")
        put(state, s"k$version", s"v$version")
        state.commit(checkpoint = checkpoint)
      }
      val fixture = executor.fixtures.head
      def isCopied(ref: VersionRef): Assertion =
        eventually(timeout(10.seconds))(assert(fixture.fileNames.contains(ref.changelogName)))
      val older, newer = new Outcome
      val first = batch(0, Some(older))
      older.await().fold(throw _, identity): Unit
      isCopied(first)
      batch(1): Unit
      val last = batch(2, Some(newer))
      newer.await().fold(throw _, identity): Unit
      isCopied(last)
      // The newer checkpoint is complete, and no batch has begun since.
      fixture.plainStorage.delete(first.changelogName): Unit
      new MergedFiles(executor.folder).of(1).foreach(file => executor.folder.delete(file.ref.mergedName))
      val other = executor.open(0, executor.storage(0))
      other.load(3, Some(last.uid), interval = true, covered = Some(3))
      assert((0 to 2).forall(n => get(other, s"k$n").contains(s"v$n")))
    }
  }

  test("a handle for which there is no room is a file of its own") {
    using(new Executor(2, maxFileSize = 100)) { executor =>
      val outcomes = (0 until 2).map(n => checkpoint(executor.open(n, executor.storage(n)), 0, "v"))
      outcomes.zip(executor.fixtures).foreach { case (outcome, fixture) =>
        val handle = outcome.await().fold(throw _, identity)
        assert(handle.merged.isEmpty && fixture.fileNames.contains(handle.meta.ref.handleName))
      }
      assert(executor.folder.files.isEmpty)
    }
  }

  test("when the merged file fails, every store is told, keeps its state, and takes the next checkpoint") {
    using(new Executor(3)) { executor =>
      val states = (0 until 3).map(n => executor.open(n, executor.storage(n)))
      executor.folder.failWriteTo = Some(".merged")
      val failed = states.map(checkpoint(_, 0, "first")).map(_.await())
      assert(failed.forall { case Left(_: StorageFailure) => true; case _ => false })
      assert(executor.folder.files.isEmpty)
      val next = states.map(checkpoint(_, 1, "second")).map(_.await().fold(throw _, identity))
      val other = executor.open(2, executor.storage(2))
      other.load(2, Some(next(2).meta.ref.uid), interval = true)
      assert(get(other, "k").contains("second") && get(other, "k0").contains("first"))
    }
  }

  test("a member that is damaged is not loaded") {
    using(new Executor(1)) { executor =>
      val handle = checkpoint(executor.open(0, executor.storage(0)), 0, "v").await().fold(throw _, identity)
      val (name, bytes) = executor.folder.files.head
      val at = handle.merged.get.offset.toInt + 40
      executor.folder.files(name) = bytes.updated(at, (bytes(at) ^ 1).toByte)
      val failure = intercept[CheckpointDamaged] {
        executor.open(0, executor.storage(0)).load(1, Some(handle.meta.ref.uid))
      }
      assert(failure.found.contains(s"$name (state/0/0)"), "it says which file")
    }
  }
}
