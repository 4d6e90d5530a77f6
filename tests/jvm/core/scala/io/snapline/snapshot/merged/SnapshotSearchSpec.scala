package io.snapline.snapshot.merged

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.snapshot.format._
import io.snapline.storage.MemoryStorage

class SnapshotSearchSpec extends AnyFunSuite {
  private val clock = new UidClock

  private val merged = new MergedFiles(new MemoryStorage)

  private def search(storage: MemoryStorage, files: Seq[MergedFile] = Nil): SnapshotSearch =
    new SnapshotSearch(storage, "state/0/0", merged, files)

  private def write(storage: MemoryStorage, version: Long, run: String): VersionRef = {
    val ref = VersionRef(version, clock.next())
    val meta = HandleMeta(ref, Nil, "rocksdb", Nil, Nil, 0, 0, 0, Origin("test", run, Map.empty))
    new FrameWriter(storage.create(ref.handleName), Frame.HandleMagic, compress = true).finish(Meta.bytes(meta))
    ref
  }

  test("snapshots of a version and a run, with the lengths of their handles") {
    val storage = new MemoryStorage
    val ref = write(storage, 4, "mine")
    write(storage, 4, "theirs"): Unit
    write(storage, 5, "mine"): Unit
    val found = search(storage).of(4, "mine")
    assert(found.map(_.meta.ref) == Seq(ref) && found.map(_.bytes) == Seq(storage.files(ref.handleName).length.toLong))
    assert(search(storage).of(6, "mine").isEmpty)
  }

  test("while another attempt is on its way, nobody can say which of them counts") {
    val storage = new MemoryStorage
    write(storage, 4, "mine"): Unit
    val second = write(storage, 4, "mine")
    storage.files(second.handleName) = storage.files(second.handleName).take(20)
    assert(search(storage).of(4, "mine").isEmpty)
  }
}
