package io.snapline.snapshot.store

import java.util.concurrent.TimeUnit

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.snapshot.format._
import io.snapline.storage.MemoryStorage

class SnapshotSweepSpec extends AnyFunSuite {
  private val day = TimeUnit.DAYS.toMillis(1)
  private val today = 1000 * day
  private val origin = Origin("test", "run", Map.empty)

  private final class Folder {
    val storage = new MemoryStorage
    private val clock = new UidClock(() => today)

    def table(modified: Long): TableFile = {
      val file = TableFile("t.sst", clock.next(), 3, 0)
      val output = storage.create(file.storedName)
      output.write(Array[Byte](1, 2, 3))
      output.close()
      storage.modified(file.storedName) = modified
      file
    }

    def handle(version: Long, files: TableFile*): VersionRef = {
      val ref = VersionRef(version, clock.next())
      new FrameWriter(storage.create(ref.handleName), Frame.HandleMagic, compress = true)
        .finish(Meta.bytes(HandleMeta(ref, Nil, "rocksdb", files, Nil, 1, 3, 0, origin)))
      ref
    }

    def changelog(version: Long): VersionRef = {
      val ref = VersionRef(version, clock.next())
      val meta = ChangelogMeta(ref, None, None, Nil, 0, 0, 1, 0, 0, origin)
      new FrameWriter(storage.create(ref.changelogName), Frame.ChangelogMagic, compress = true).finish(Meta.bytes(meta))
      ref
    }

    def refs: Set[VersionRef] = StoreFolder.list(storage).refs
    def tables: Set[String] = storage.list("sst").map(_.name).toSet
    def sweep(oldest: Long, named: VersionRef*): Int = new SnapshotSweep(storage, () => today).run(oldest, named.toSet)
  }

  test("what lies below the oldest checkpoint goes, but for snapshots that are named; what lies above stays") {
    val folder = new Folder
    val shared = folder.table(today - 2 * day)
    val lost = folder.table(today - 2 * day)
    val underWay = folder.table(today - day / 2)
    val savepoint = folder.handle(2, shared)
    val left = Seq(folder.handle(3, lost), folder.changelog(3), folder.changelog(4))
    val kept = Seq(savepoint, folder.handle(5, shared), folder.changelog(6), folder.handle(7))
    assert(folder.sweep(5, savepoint, kept(1)) == left.size + 1)
    assert(folder.refs == kept.toSet)
    assert(folder.tables == Set(shared.storedName, underWay.storedName))
    assert(folder.sweep(5, savepoint, kept(1)) == 0)
  }

  test("table files stay that are in use though no handle in the folder names them") {
    val folder = new Folder
    val ofMerged = folder.table(today - 2 * day)
    folder.table(today - 2 * day): Unit
    assert(new SnapshotSweep(folder.storage, () => today).run(5, Set.empty, _ == ofMerged.storedName) == 1)
    assert(folder.tables == Set(ofMerged.storedName))
  }

  test("table files stay while a handle that stays cannot be read") {
    val folder = new Folder
    val old = folder.table(today - 2 * day)
    val damaged = folder.handle(9)
    folder.storage.files(damaged.handleName)(20) = (folder.storage.files(damaged.handleName)(20) ^ 1).toByte
    assert(folder.sweep(5) == 0)
    assert(folder.tables == Set(old.storedName))
  }
}
