package io.snapline.snapshot.store

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.{CheckpointDamaged, StateNotFound}
import io.snapline.snapshot.format.Frame
import io.snapline.storage.ArrayStorage

/** What loading a version takes is copied, whatever the chain behind it, and what is damaged is not. */
abstract class VersionCopyOn(backend: TestBackend) extends AnyFunSuite {

  private def key(i: Int): Array[Byte] = s"key $i".getBytes

  /** Versions 1 to 6; the fourth has a snapshot. */
  private def withStore(body: StoreFixture => Unit): Unit = {
    val settings = StateSettings(policy = SnapshotPolicy(minChangelogs = 100))
    val fixture = new StoreFixture(settings, backend = backend)
    try {
      val state = fixture.open()
      val random = new Random(4)
      (0 until 6).foreach { version =>
        state.load(version.toLong, None)
        val family = state.backend.createFamily("a", keyGroups = false, multi = false, internal = false)
        (0 until 200).foreach(_ => family.put(key(random.nextInt(500)), random.nextBytes(100)))
        state.commit(forceSnapshot = version == 1 || version == 3)
      }
      body(fixture)
    } finally fixture.close()
  }

  private def content(fixture: StoreFixture, version: Long, from: io.snapline.storage.CheckpointStorage) = {
    val backend = new StateRestore(from, fixture.factory, _ => ()).restore(version, None).backend
    try {
      val cursor = backend.family("a").iterate()
      val rows = Seq.newBuilder[(Seq[Byte], Seq[Byte])]
      while (cursor.next()) rows += cursor.key.toSeq -> cursor.value.toSeq
      rows.result()
    } finally backend.close()
  }

  test("a copy loads as what it is of, with the fewest files") {
    withStore { fixture =>
      (1 to 6).foreach { version =>
        val to = new ArrayStorage("copy")
        val copied = new VersionCopy(fixture.storage, to).run(version.toLong, None)
        assert(content(fixture, version.toLong, to) == content(fixture, version.toLong, fixture.storage))
        assert(copied.families.map(_.keys).sum == content(fixture, version.toLong, to).size)
        assert(copied.files.map(_.name).toSet == to.list("").map(_.name).toSet)
        copied.files.foreach { file =>
          val bytes = to.bytes(file.name)
          assert((bytes.length.toLong, Frame.crc(bytes, 0, bytes.length)) == (file.length -> file.crc32c))
        }
        val changelogs = copied.files.count(_.name.endsWith(".changelog"))
        assert(changelogs == Map(1 -> 1, 2 -> 0, 3 -> 1, 4 -> 0, 5 -> 1, 6 -> 2)(version))
      }
    }
  }

  test("a snapshot that is damaged is set aside for the one below, and nothing of it is left") {
    withStore { fixture =>
      val wanted = content(fixture, 6, fixture.storage)
      val handle = fixture.stored.names.find(name => name.startsWith("4_") && name.endsWith(".handle")).get
      harm(fixture, handle)
      val to = new ArrayStorage("copy")
      val copied = new VersionCopy(fixture.storage, to).run(6, None)
      assert(content(fixture, 6, to) == wanted)
      assert(to.list("").map(_.name).toSet == copied.files.map(_.name).toSet)
      assert(!to.list("").exists(_.name == handle))
    }
  }

  test("where a changelog is damaged there is no copy") {
    withStore { fixture =>
      harm(fixture, fixture.stored.names.find(_.startsWith("5_")).get)
      val to = new ArrayStorage("copy")
      intercept[CheckpointDamaged](new VersionCopy(fixture.storage, to).run(6, None))
      assert(to.list("").isEmpty)
      intercept[StateNotFound](new VersionCopy(fixture.storage, to).run(7, None))
    }
  }

  test("what a task that died has left is replaced by the next") {
    withStore { fixture =>
      val to = new ArrayStorage("copy")
      val copied = new VersionCopy(fixture.storage, to).run(5, None)
      assert(new VersionCopy(fixture.storage, to, isAgain = true).run(5, None) == copied)
    }
  }

  private def harm(fixture: StoreFixture, name: String): Unit = {
    val bytes = fixture.stored.bytes(name)
    bytes(bytes.length / 2) = (bytes(bytes.length / 2) ^ 1).toByte
    fixture.stored.write(name, bytes)
  }
}

class VersionCopySpec extends VersionCopyOn(TestBackend.RocksDb)
class HashMapVersionCopySpec extends VersionCopyOn(TestBackend.HashMap)
