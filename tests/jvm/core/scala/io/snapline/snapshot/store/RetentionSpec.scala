package io.snapline.snapshot.store

import java.util.concurrent.TimeUnit

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.snapshot.format._
import io.snapline.state.FamilyDescriptor
import io.snapline.storage.MemoryStorage

/** Which files clean-up takes, on a store made of metas alone. */
class RetentionSpec extends AnyFunSuite {
  private val origin = Origin("test", "run", Map.empty)
  private val families =
    Seq(FamilyState(FamilyDescriptor(0, "default", keyGroups = false, multi = false, internal = false), 0))
  private val day = TimeUnit.DAYS.toMillis(1)
  private val today = 1000 * day

  /** Versions one after another, with snapshots of the given ones; every snapshot has a table file of its own and one
    * all have.
    */
  private final class Store(versions: Int, snapshots: Set[Int]) {
    val storage = new MemoryStorage
    val clock = new UidClock(() => today)
    private val common = table("common")
    var own = Map.empty[Long, String]
    var refs = Map.empty[Long, VersionRef]
    val recent = new RecentSnapshots
    private var snapshot = Option.empty[VersionRef]

    (1 to versions).foreach { version =>
      val ref = VersionRef(version.toLong, clock.next())
      val meta = ChangelogMeta(ref, refs.get(version - 1L), snapshot, families, 0, 0, 1, 0, 0, origin)
      new FrameWriter(storage.create(ref.changelogName), Frame.ChangelogMagic, compress = true).finish(Meta.bytes(meta))
      recent.add(ref.version, snapshot, retain = versions)
      refs += ref.version -> ref
      if (snapshots(version)) {
        val fresh = table(s"own-$version")
        own += ref.version -> fresh.storedName
        writeHandle(ref, Seq(common, fresh))
        snapshot = Some(ref)
      }
    }

    def table(name: String): TableFile = {
      val file = TableFile(s"$name.sst", clock.next(), 3, 0)
      val output = storage.create(file.storedName)
      output.write(Array[Byte](1, 2, 3))
      output.close()
      storage.modified(file.storedName) = today
      file
    }

    def writeHandle(ref: VersionRef, files: Seq[TableFile]): Unit =
      new FrameWriter(storage.create(ref.handleName), Frame.HandleMagic, compress = true)
        .finish(Meta.bytes(HandleMeta(ref, families, "rocksdb", files, Nil, 1, 3, 0, origin)))

    def newest: VersionRef = refs(refs.keys.max)

    def cleanUp(
        retain: Int,
        minStale: Long = 0,
        maxDeletes: Int = -1,
        now: Long = today,
        remembered: Boolean = true,
        pinned: Set[VersionRef] = Set.empty,
        tables: Set[String] = Set.empty,
        awaited: Long = Long.MaxValue
    ): Unit = {
      val settings = StateSettings(retain = retain, minStale = minStale, maxDeletes = maxDeletes)
      new Retention(storage, settings, () => Pinned(pinned, tables), () => now)
        .run(newest, if (remembered) recent else new RecentSnapshots, awaited)
    }

    def versions: Set[Long] = StoreFolder.list(storage).refs.map(_.version)
    def handles: Set[Long] = StoreFolder.list(storage).handles.keySet.map(_.version)
    def tables: Set[String] = storage.list("sst").map(_.name).toSet
  }

  test("a snapshot that a checkpoint names stays with its table files, and is no obstacle to the rest") {
    val store = new Store(20, Set(3, 7, 11, 15))
    store.cleanUp(retain = 8, maxDeletes = 1, pinned = Set(store.refs(1), store.refs(3)))
    assert(store.versions == Set(1L, 3L) ++ (4L to 20L), "version 2 was the only one allowed to go")
    store.cleanUp(retain = 8, pinned = Set(store.refs(3)))
    assert(store.versions == Set(3L) ++ (11L to 20L) && store.handles == Set(3L, 11L, 15L))
    assert(store.tables(store.own(3)) && !store.tables(store.own(7)))
  }

  test("a version that a checkpoint waits for stays with its snapshot, however few are kept") {
    for (remembered <- Seq(true, false)) {
      val store = new Store(20, Set(3, 7, 11, 15))
      store.cleanUp(retain = 2, awaited = 7, remembered = remembered)
      // What is remembered of version 7 is the snapshot that it names; by reading, its own is found, which version 8
      // names.
      val base = if (remembered) 3L else 7L
      assert(store.versions == (base to 20L).toSet && store.tables(store.own(7)))
      store.cleanUp(retain = 2, remembered = remembered)
      assert(store.versions == (15L to 20L).toSet)
    }
  }

  test("a table file that a checkpoint names stays where its handle is not in the folder") {
    val store = new Store(20, Set(3, 7, 11, 15))
    val named = store.own(3)
    store.cleanUp(retain = 8, tables = Set(named))
    assert(store.handles == Set(11L, 15L) && store.tables(named) && !store.tables(store.own(7)))
  }

  for (remembered <- Seq(true, false)) {
    test(s"what is below the snapshot of the oldest kept version goes: known without reading $remembered") {
      val store = new Store(20, Set(3, 7, 11, 15))
      store.cleanUp(retain = 8, remembered = remembered)
      // 13 is the oldest kept; it stands on 11.
      assert(store.versions == (11L to 20L).toSet && store.handles == Set(11L, 15L))
      assert(!store.tables(store.own(3)) && !store.tables(store.own(7)))
      assert(store.tables.size == 3, "the common one and those of 11 and 15")
      val left = store.storage.files.toMap
      store.cleanUp(retain = 8, remembered = remembered)
      assert(store.storage.files.keySet == left.keySet)
    }
  }

  for (remembered <- Seq(true, false)) {
    test(s"versions that are snapshots alone stand for themselves: known without reading $remembered") {
      val store = new Store(20, (1 to 20).toSet)
      (5 to 20).foreach(version => store.storage.delete(store.refs(version.toLong).changelogName))
      store.cleanUp(retain = 8, remembered = remembered)
      val oldest = if (remembered) 12L else 13L
      assert(store.versions == (oldest to 20L).toSet)
      assert(store.tables(store.own(oldest)) && !store.tables(store.own(11)))
    }
  }

  test("of versions that are not all snapshots alone none goes until they are") {
    val store = new Store(20, (1 to 20).toSet)
    (15 to 20).foreach(version => store.storage.delete(store.refs(version.toLong).changelogName))
    store.cleanUp(retain = 8, remembered = false)
    assert(store.versions.size == 20)
    store.cleanUp(retain = 6, remembered = false)
    assert(store.versions == (15L to 20L).toSet)
  }

  test("nothing goes before there are more versions than are kept, or while no snapshot serves the oldest") {
    val store = new Store(20, Set(19))
    store.cleanUp(retain = 20)
    store.cleanUp(retain = 100)
    store.cleanUp(retain = 5)
    store.cleanUp(retain = 5, remembered = false)
    assert(store.versions.size == 20)
  }

  test("a listing is worth while only with enough stale versions") {
    val store = new Store(20, Set(10))
    store.cleanUp(retain = 5, minStale = 15)
    assert(store.versions.size == 20)
    store.cleanUp(retain = 5, minStale = 14)
    assert(store.versions == (10L to 20L).toSet)
  }

  test("one clean-up removes so many versions at most, the oldest first, and never out of order") {
    val store = new Store(20, Set(2, 4, 10))
    store.cleanUp(retain = 5, maxDeletes = 3)
    assert(store.versions == (4L to 20L).toSet && store.handles == Set(4L, 10L))
    assert(store.tables(store.own(4)) && !store.tables(store.own(2)))
    store.cleanUp(retain = 5, maxDeletes = 3)
    assert(store.versions == (7L to 20L).toSet && !store.tables(store.own(4)))
    store.cleanUp(retain = 5, maxDeletes = 3)
    assert(store.versions == (10L to 20L).toSet)
  }

  test("a table file nobody names stays for a day") {
    val store = new Store(20, Set(3, 12))
    val orphan = store.table("upload").storedName
    store.cleanUp(retain = 5, now = today + day - 1000)
    assert(store.tables(orphan))
    val again = new Store(20, Set(3, 12))
    val old = again.table("upload").storedName
    again.cleanUp(retain = 5, now = today + day + 1000)
    assert(!again.tables(old) && again.tables(again.own(12)), "what is named stays, however old")
  }

  test("an unreadable handle among the kept ones keeps all table files") {
    val store = new Store(20, Set(3, 12, 18))
    store.storage.files(store.refs(18).handleName) = Array[Byte](1, 2, 3)
    store.cleanUp(retain = 8, now = today + 2 * day)
    assert(store.versions == (12L to 20L).toSet)
    assert(store.tables.size == 4)
  }

  test("an unreadable handle among those that go does not hold clean-up up") {
    val store = new Store(20, Set(3, 7, 12))
    store.storage.files(store.refs(3).handleName) = Array[Byte](1, 2, 3)
    store.cleanUp(retain = 8)
    assert(store.versions == (12L to 20L).toSet && !store.tables(store.own(7)))
    assert(store.tables(store.own(3)), "nobody knows whose it is: it goes in a day")
  }

  test("a line that cannot be read waits") {
    val store = new Store(20, Set(3, 7, 16, 19))
    store.storage.files(store.refs(18).changelogName) = Array[Byte](1, 2, 3)
    store.cleanUp(retain = 8, remembered = false)
    assert(store.versions.size == 20)
  }
}
