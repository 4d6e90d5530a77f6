package io.snapline.promises

import java.io.File
import java.nio.file.Files

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error._
import io.snapline.snapshot.format.Origin
import io.snapline.snapshot.store._
import io.snapline.state.KeyedBackend
import io.snapline.storage.{Fault, FaultPlan, FaultyFileSystem}

/** A wrong schema, path or version gets an error with a code, what was found, and what to do, before anything is
  * written.
  *
  * Settings and Spark's side of it are tested with the provider.
  */
abstract class Promise5BadInputOn(backend: TestBackend) extends AnyFunSuite {
  private val settings = StateSettings(policy = SnapshotPolicy(minChangelogs = 1000))

  private def withStore(body: StoreFixture => Unit): Unit = {
    val fixture = new StoreFixture(settings, storageOf = FaultyFileSystem.over, backend = backend)
    try {
      body(fixture)
      fixture.closeStores()
      assert(fixture.localFolders.isEmpty && fixture.memoryUsed == 0)
    } finally fixture.close()
  }

  /** Three versions, the second with a snapshot. */
  private def fill(fixture: StoreFixture): Unit = {
    val state = fixture.open()
    (0L until 3L).foreach { version =>
      state.load(version, None)
      put(state, version.toInt)
      state.commit(forceSnapshot = version == 1): Unit
    }
    state.close()
  }

  private def put(state: VersionedState, n: Int): Unit =
    state.backend.createFamily("default", keyGroups = false, multi = false, internal = false)
      .put(s"k$n".getBytes, new Array[Byte](100))

  private def everything(folder: File): Map[String, Seq[Byte]] =
    Option(folder.listFiles()).toSeq.flatten.flatMap { file =>
      if (file.isDirectory) everything(file).map { case (name, bytes) => s"${file.getName}/$name" -> bytes }
      else Seq(file.getName -> Files.readAllBytes(file.toPath).toSeq)
    }.toMap

  /** Each attempt ends in an error of the kind, with all that a reader needs, and changes nothing. */
  private def refused[E <: SnaplineException](fixture: StoreFixture, what: String)(attempt: VersionedState => Unit)(
      implicit kind: scala.reflect.ClassTag[E]
  ): E = refused(fixture, what, fixture.open())(attempt)

  private def refused[E <: SnaplineException](fixture: StoreFixture, what: String, state: VersionedState)(
      attempt: VersionedState => Unit
  )(implicit kind: scala.reflect.ClassTag[E]): E = {
    val before = everything(fixture.folder)
    try {
      val error = withClue(what)(intercept[E](attempt(state)))
      assert(error.code.startsWith("SNAPLINE-") && error.found.nonEmpty && error.action.nonEmpty, what)
      assert(error.getMessage.contains(error.code) && error.getMessage.contains(error.action), what)
      assert(everything(fixture.folder) == before, s"$what: the checkpoint is as it was")
      error
    } finally state.close()
  }

  test("the files of Spark's own providers") {
    val uuid = "0f8fad5b-d9cb-469f-a165-70867728950e"
    for (
      name <-
        Seq("1.delta", "3.snapshot", "3.zip", "3.changelog", s"3_$uuid.zip", s"3_$uuid.changelog", s"3_$uuid.delta")
    ) {
      withStore { fixture =>
        fixture.folder.mkdirs()
        Files.write(new File(fixture.folder, name).toPath, "LZ4Block".getBytes ++ new Array[Byte](100))
        for (version <- Seq(0L, 1L, 3L, 4L); uid <- Seq(None, Some(uuid))) {
          val error = refused[NotACheckpoint](fixture, s"$name at $version")(_.load(version, uid))
          assert(error.found.contains(name))
        }
      }
    }
  }

  test("files whose format is of a later version") {
    withStore { fixture =>
      fill(fixture)
      def later(suffix: String): Unit = fixture.folder.listFiles().filter(_.getName.endsWith(suffix)).foreach { file =>
        val bytes = Files.readAllBytes(file.toPath)
        bytes(8) = 2
        val crc = new java.util.zip.CRC32C
        crc.update(bytes, 0, 12)
        java.nio.ByteBuffer.wrap(bytes).order(java.nio.ByteOrder.LITTLE_ENDIAN).putInt(12, crc.getValue.toInt)
        Files.write(file.toPath, bytes): Unit
      }
      later("handle")
      assert(refused[UnsupportedVersion](fixture, "handles")(_.load(3, None)).found.contains("format 2"))
      later("changelog")
      refused[UnsupportedVersion](fixture, "all")(_.load(3, None)): Unit
      refused[UnsupportedVersion](fixture, "all")(_.load(1, None)): Unit
    }
  }

  test("state that was written under other settings") {
    withStore { fixture =>
      fill(fixture)
      def checked(asked: Origin => Unit): VersionedState =
        new VersionedState(
          StoreContext(fixture.storage, settings, StoreFixture.origin),
          fixture.factory,
          StoreFixture.pool,
          asked
        )
      // By the handle, by a changelog, by both.
      (1L to 3L).foreach { version =>
        refused[IncompatibleState](
          fixture,
          s"version $version",
          checked(_ => throw new IncompatibleState("other.", "go."))
        )(
          _.load(version, None)
        ): Unit
      }
      var asked = 0
      val state = checked { origin => assert(origin == StoreFixture.origin); asked += 1 }
      state.load(3, None)
      state.close()
      assert(asked == 2)
    }
  }

  test("state of another backend") {
    withStore { fixture =>
      fill(fixture)
      val other = new BackendFactory {
        override def kind: String = "heap"
        override def newFolder(): File = fixture.factory.newFolder()
        override def open(folder: File, restored: Boolean): KeyedBackend = fixture.factory.open(folder, restored)
      }
      val state = new VersionedState(
        StoreContext(fixture.storage, settings, StoreFixture.origin),
        other,
        StoreFixture.pool,
        _ => ()
      )
      val error = refused[IncompatibleState](fixture, "heap", state)(_.load(3, None))
      assert(error.found.contains(backend.kind) && error.found.contains("heap"))
    }
  }

  test("versions that are not there") {
    withStore { fixture =>
      refused[StateNotFound](fixture, "nothing at all")(_.load(1, None)): Unit
      fill(fixture)
      Seq(4L, 100L, Long.MaxValue - 1).foreach { version =>
        assert(refused[StateNotFound](
          fixture,
          s"version $version"
        )(_.load(version, None)).found.contains("newest there is 3"))
      }
    }
  }

  test("a folder that is a file") {
    withStore { fixture =>
      fixture.folder.getParentFile.mkdirs()
      Files.write(fixture.folder.toPath, Array[Byte](1))
      val state = fixture.open()
      intercept[SnaplineException] {
        state.load(0, None)
        put(state, 1)
        state.commit(): Unit
      }
      intercept[SnaplineException](state.load(1, None))
      assert(Files.readAllBytes(fixture.folder.toPath).toSeq == Seq[Byte](1))
    }
  }

  test("a checkpoint that takes no more bytes, and does again later") {
    withStore { fixture =>
      fill(fixture)
      val before = everything(fixture.folder)
      val state = fixture.open()
      state.load(3, None)
      put(state, 3)
      // From here on every operation fails.
      FaultyFileSystem.run(new FaultPlan(0, Fault.CutOff)) {
        intercept[StorageFailure](state.commit())
        state.abort()
        intercept[StorageFailure](state.load(3, None))
      }
      val after = everything(fixture.folder)
      assert(before.forall { case (name, bytes) => after.get(name).contains(bytes) })
      state.load(3, None)
      assert(state.backend.family("default").keyCount == 3)
      put(state, 3)
      assert(state.commit().version == 4)
    }
  }

  test("a local disk that cannot be written, and can be later") {
    withStore { fixture =>
      fill(fixture)
      val blocked = File.createTempFile("snapline", "file")
      var broken = true
      val factory = new BackendFactory {
        override def kind: String = fixture.factory.kind
        override def newFolder(): File = if (broken) new File(blocked, "below") else fixture.factory.newFolder()
        override def open(folder: File, restored: Boolean): KeyedBackend = fixture.factory.open(folder, restored)
      }
      val state =
        new VersionedState(
          StoreContext(fixture.storage, settings, StoreFixture.origin),
          factory,
          StoreFixture.pool,
          _ => ()
        )
      val before = everything(fixture.folder)
      try {
        (2L to 3L).foreach(version => intercept[StorageFailure](state.load(version, None)))
        // A backend that has not written yet finds out when it does.
        state.load(1, None)
        if (backend == TestBackend.RocksDb) {
          intercept[StorageFailure](state.backend.family("default").iterate()): Unit
        }
        state.abort()
        assert(everything(fixture.folder) == before)
        broken = false
        state.load(3, None)
        assert(state.backend.family("default").keyCount == 3)
      } finally {
        state.close()
        blocked.delete(): Unit
      }
    }
  }
}

class Promise5BadInputSpec extends Promise5BadInputOn(TestBackend.RocksDb)

class Promise5BadInputOnHashMapSpec extends Promise5BadInputOn(TestBackend.HashMap)

class Promise5BadInputOnNestedHashMapSpec extends Promise5BadInputOn(TestBackend.NestedHashMap)
