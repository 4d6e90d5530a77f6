package io.snapline.snapshot.store

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.{CheckpointDamaged, StateNotFound, StorageFailure}
import io.snapline.snapshot.format.Frame
import io.snapline.storage._

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

  private def content(fixture: StoreFixture, version: Long, from: CheckpointStorage) = {
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

  /** Each file that an attempt has told of is there, as it told. */
  private def assertThere(copied: CopiedVersion, to: MemoryStorage): Unit = copied.files.foreach { file =>
    val bytes = to.files.getOrElse(file.name, fail(s"${file.name} is gone"))
    assert((bytes.length.toLong, Frame.crc(bytes, 0, bytes.length)) == (file.length -> file.crc32c))
  }

  for (
    (what, harm) <- Seq[(String, Array[Byte] => Array[Byte])](
      "nothing of it" -> (_ => Array.emptyByteArray),
      "a part of it" -> (_.drop(1)),
      "as many other bytes" -> (_.map(b => (b ^ 1).toByte))
    )
  ) test(s"a file of a task that died is replaced by the next: $what") {
    withStore { fixture =>
      val to = new MemoryStorage
      val copied = new VersionCopy(fixture.storage, to).run(5, None)
      copied.files.foreach { file =>
        to.files(file.name) = harm(to.files(file.name))
        assert(new VersionCopy(fixture.storage, to, isAgain = true).run(5, None) == copied)
        assertThere(copied, to)
      }
    }
  }

  test("what one attempt has told of stays as it is, whatever becomes of another one") {
    withStore { fixture =>
      val to = new MemoryStorage
      val copied = new VersionCopy(fixture.storage, to).run(6, None)
      var creates = 0
      val failing = new WatchedStorage(to, created = _ => { creates += 1; if (creates > 1) sys.error("killed") })
      try new VersionCopy(fixture.storage, failing, isAgain = true).run(6, None): Unit
      catch { case _: RuntimeException => () }
      assertThere(copied, to)
    }
  }

  test("what one attempt has told of stays, although another one finds the snapshot gone meanwhile") {
    withStore { fixture =>
      val to = new MemoryStorage
      val copied = new VersionCopy(fixture.storage, to).run(6, None)
      val gone = copied.files.find(file => file.name.startsWith("sst/")).get.name
      fixture.stored.delete(gone)
      val again = new VersionCopy(fixture.storage, to, isAgain = true).run(6, None)
      assert(again.ref == copied.ref && !again.files.exists(_.name == gone))
      assertThere(copied, to)
      assertThere(again, to)
    }
  }

  test("an attempt takes what another one has written meanwhile") {
    withStore { fixture =>
      val to = new MemoryStorage
      var other = Option.empty[CopiedVersion]
      val overtaken = new WatchedStorage(
        to,
        created = name => {
          if (name.endsWith(".handle")) other = Some(new VersionCopy(fixture.storage, to, isAgain = true).run(6, None))
        }
      )
      val copied = new VersionCopy(fixture.storage, overtaken).run(6, None)
      assert(other.contains(copied))
      assertThere(copied, to)
    }
  }

  for {
    kind <- Seq(".sst", ".handle", ".changelog")
    isKilled <- Seq(false, true)
  } test(s"an attempt that another one has overtaken at its $kind takes nothing of that one away, killed $isKilled") {
    withStore { fixture =>
      val to = new MemoryStorage
      var other = Option.empty[CopiedVersion]
      def overtake(): Unit = {
        other = Some(new VersionCopy(fixture.storage, to, isAgain = true).run(6, None))
        if (isKilled) throw new InterruptedException else throw new StorageFailure("It is gone.", "nothing.")
      }
      val slower = new VersionCopy(fixture.storage, new OvertakenStorage(to, kind, () => overtake()))
      if (isKilled) assertThrows[InterruptedException](slower.run(6, None))
      else {
        val copied = slower.run(6, None)
        assert(other.contains(copied))
      }
      assertThere(other.get, to)
      assert(to.open == 0)
    }
  }

  private def harm(fixture: StoreFixture, name: String): Unit = {
    val bytes = fixture.stored.bytes(name)
    bytes(bytes.length / 2) = (bytes(bytes.length / 2) ^ 1).toByte
    fixture.stored.write(name, bytes)
  }
}

/** The first write to a file of a kind ends with what `overtake` throws. */
private final class OvertakenStorage(inner: MemoryStorage, kind: String, overtake: () => Unit)
    extends CheckpointStorage {
  private var isOvertaken = false

  override def location: String = inner.location

  override def create(name: String): StoredOutput = {
    val output = inner.create(name)
    if (isOvertaken || !name.endsWith(kind)) output
    else {
      isOvertaken = true
      new StoredOutput {
        override def write(b: Int): Unit = output.write(b)
        override def write(source: Array[Byte], offset: Int, length: Int): Unit = overtake()
        override def close(): Unit = output.close()
        override def abandon(): Unit = output.abandon()
        override def release(): Unit = output.release()
      }
    }
  }

  override def open(name: String): StoredInput = inner.open(name)
  override def list(folder: String): Seq[StoredFile] = inner.list(folder)
  override def delete(name: String): Boolean = inner.delete(name)
}

class VersionCopySpec extends VersionCopyOn(TestBackend.RocksDb)
class HashMapVersionCopySpec extends VersionCopyOn(TestBackend.HashMap)
