package io.snapline.spark.provider

import java.io.File
import java.nio.file.Files

import scala.util.{Failure, Success, Try}

import org.apache.spark.sql.execution.streaming.state.StateStoreProvider
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error._
import io.snapline.spark.SnaplineStateStoreProvider
import io.snapline.spark.provider.ProviderFixture._

/** What is not as it should be in a store's folder: an error with a code tells, and the folder stays as it was byte for
  * byte.
  */
class BadStoreSpec extends AnyFunSuite {
  private val changelogs = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"

  private def unchanged[A](fixture: ProviderFixture)(body: => A): A = {
    val before = fixture.content
    val result = body
    assert(fixture.content == before)
    result
  }

  /** Loads a version in every way Spark does; all have the same outcome. */
  private def attempts(provider: SnaplineStateStoreProvider, version: Version): Seq[Throwable] = Seq[() => Any](
    () => provider.getStore(version.number, version.id),
    () => provider.getReadStore(version.number, version.id),
    () => provider.replayStateFromSnapshot(math.max(version.number, 1), version.number, true, version.id, version.id)
  ).map(load => intercept[Exception](load()))

  private def sparks(name: String): StateStoreProvider =
    StateStoreProvider.create(s"org.apache.spark.sql.execution.streaming.state.$name")

  for (
    (name, settings) <- Seq(
      "HDFSBackedStateStoreProvider" -> Nil,
      "RocksDBStateStoreProvider" -> Seq(changelogs -> "false"),
      "RocksDBStateStoreProvider" -> Seq(changelogs -> "true")
    );
    // Spark's HDFS-backed provider knows format 1 only.
    format <- 1 to 2 if format == 1 || settings.nonEmpty
  )
    test(s"format $format: a store of Spark's $name${settings.map(s => s", changelogs: ${s._2}").mkString}") {
      using(format) { fixture =>
        val theirs = fixture.open(sparks(name), settings: _*)
        val first = batch(theirs, Version.Empty)(1L -> 1L)
        val second = batch(theirs, first)(2L -> 2L)
        theirs.doMaintenance()
        unchanged(fixture) {
          for (version <- Seq(Version.Empty, first, second, Version(9, None))) {
            val ways = attempts(fixture.open(), version)
            // A replay of Spark's names a snapshot, and there is none of ours.
            ways.take(2).foreach { thrown =>
              val error = causeOf[NotACheckpoint](thrown)
              assert(error.code == "SNAPLINE-NOT-A-CHECKPOINT" && error.action.contains("provider"))
            }
            causeOf[Throwable](ways.last): Unit
          }
        }
        assert(read(theirs, second) == Map(1L -> 1L, 2L -> 2L))
      }
    }

  private val harms: Seq[(String, File => Unit)] = Seq(
    "is missing" -> (file => assert(file.delete())),
    "is empty" -> (file => Files.write(file.toPath, Array.empty[Byte]): Unit),
    "is cut short" -> { file =>
      val bytes = Files.readAllBytes(file.toPath)
      Files.write(file.toPath, bytes.take(bytes.length / 2)): Unit
    },
    "is somebody else's" -> (file => Files.write(file.toPath, "LZ4Block, or some text".getBytes): Unit),
    "has a byte too many" -> { file =>
      Files.write(file.toPath, Files.readAllBytes(file.toPath) :+ 0.toByte): Unit
    }
  )

  for (format <- 1 to 2; (harm, act) <- harms)
    test(s"format $format: a file of the store $harm") {
      using(format) { fixture =>
        val writer = fixture.open(ProviderSettings.InlineThreshold -> "0")
        val first = batch(writer, Version.Empty)(1L -> 1L)
        val second = batch(writer, first, force = true)(2L -> 2L)
        val newest = batch(writer, second)(3L -> 3L)
        val sound = fixture.content
        assert(sound.keys.count(_.endsWith(".changelog")) == 3 && sound.keys.exists(_.startsWith("sst/")))
        var refused = 0
        for ((name, bytes) <- sound) {
          val file = new File(fixture.folder, name)
          act(file)
          unchanged(fixture) {
            val provider = fixture.open()
            Try(read(provider, newest)) match {
              case Success(rows) => assert(rows == Map(1L -> 1L, 2L -> 2L, 3L -> 3L), name)
              case Failure(thrown) =>
                val error = causeOf[SnaplineException](thrown)
                assert(error.found.nonEmpty && error.action.nonEmpty && error.code != "SNAPLINE-INTERNAL", name)
                refused += 1
                intercept[Exception](provider.getStore(newest.number, newest.id))
            }
          }
          Files.write(file.toPath, bytes.toArray)
        }
        // Nothing stands in for the changelog of the newest version; an older snapshot and its changelogs do for all
        // else.
        assert(refused == 1)
        assert(read(fixture.open(), newest) == Map(1L -> 1L, 2L -> 2L, 3L -> 3L))
      }
    }

  test("a folder that may only be read is read, and what would write to it is told so") {
    using(1, Some(ReadOnlyFileSystem.Scheme -> classOf[ReadOnlyFileSystem])) { fixture =>
      val writer = new ProviderFixture()
      try {
        val version = batch(writer.open(), Version.Empty, force = true)(1L -> 1L)
        copy(writer.folder, fixture.folder)
        unchanged(fixture) {
          val provider = fixture.open()
          assert(read(provider, version) == Map(1L -> 1L))
          for (force <- Seq(false, true)) {
            val store = ProviderFixture.store(provider, version, force)
            store.put(row(2), row(2))
            val error = causeOf[StorageFailure](intercept[Exception](store.commit()))
            assert(error.code == "SNAPLINE-STORAGE" && error.found.contains("Permission denied"))
            assert(error.action.contains("permissions"))
            store.abort()
          }
          provider.doMaintenance()
          assert(read(provider, version) == Map(1L -> 1L))
        }
      } finally writer.close()
    }
  }

  test("an empty folder that may only be read") {
    using(1, Some(ReadOnlyFileSystem.Scheme -> classOf[ReadOnlyFileSystem])) { fixture =>
      val store = fixture.open().getStore(0)
      store.put(row(1), row(1))
      causeOf[StorageFailure](intercept[Exception](store.commit()))
      store.abort()
      assert(!fixture.folder.exists())
    }
  }

  private def copy(from: File, to: File): Unit = {
    to.mkdirs()
    from.listFiles().foreach { file =>
      if (file.isDirectory) copy(file, new File(to, file.getName))
      else Files.copy(file.toPath, new File(to, file.getName).toPath): Unit
    }
  }
}
