package io.snapline.snapshot.merged

import java.util.concurrent.{CompletableFuture, TimeUnit}

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.{CheckpointDamaged, SnaplineException, StateNotFound, UnsupportedVersion}
import io.snapline.snapshot.format._
import io.snapline.storage._

/** What was written as one file is read as many, or not at all. */
class MergedFilesSpec extends AnyFunSuite {
  private val clock = new UidClock
  private val stores = (0 until 4).map(partition => s"state/0/$partition") :+ "state/1/0/left-keyToNumValues"

  private final class Merged(version: Long = 8, storage: MemoryStorage = new MemoryStorage) {
    val folder: MemoryStorage = storage

    /** By store. */
    val handles: Map[String, (HandleMeta, MergedPlace, Int)] = {
      val merger = new HandleMerger(storage, 1 << 20, "test", lingerMs = 50, idleMs = 100)
      stores.map { store =>
        val meta = HandleMeta(
          VersionRef(version, clock.next()),
          Nil,
          "rocksdb",
          Seq(TableFile("1.sst", clock.next(), 3, 4)),
          Seq("CURRENT" -> 5),
          0,
          0,
          0,
          Origin("test", "run", Map.empty)
        )
        val memory = new ArrayStorage("memory")
        val frame = new FrameWriter(memory.create(meta.ref.handleName), Frame.HandleMagic, compress = true)
        frame.block("hello".getBytes, 0, 5)
        frame.finish(Meta.bytes(meta))
        val told = new CompletableFuture[MergedPlace]
        val bytes = memory.bytes(meta.ref.handleName)
        merger.add(store, meta.ref, bytes)(outcome => told.complete(outcome.fold(throw _, identity)): Unit)
        (store, meta, told, bytes.length)
      }.map { case (store, meta, told, length) => store -> ((meta, told.get(30, TimeUnit.SECONDS), length)) }.toMap
    }

    val ref: VersionRef = handles.head._2._2.fileOf(handles.head._2._1.ref)
    def files = new MergedFiles(folder)

    /** A store's folder that knows where its handle is. */
    def told(store: String): MergedStorage = {
      val (meta, place, length) = handles(store)
      val there = new MergedStorage(new MemoryStorage, store, files, () => false)
      there.learn(meta.ref, place, length.toLong)
      there
    }

    def whole: Array[Byte] = folder.files(ref.mergedName)
  }

  test("the whole file, an index of a version, and one handle of it") {
    val merged = new Merged
    assert(merged.files.read(merged.ref).map { case (member, meta) => member.store -> meta }.toMap ==
      merged.handles.map { case (store, (meta, _, _)) => store -> meta })
    assert(merged.files.of(8).map(_.members.map(_.store).toSet) == Seq(stores.toSet) && merged.files.of(7).isEmpty)
    stores.foreach { store =>
      val (meta, _, _) = merged.handles(store)
      assert(new StateFiles(merged.told(store)).handle(meta.ref)._1 == meta)
    }
  }

  test("whoever is told where a handle is reads that, and lists nothing") {
    val merged = new Merged
    var lists = 0
    val counted = new CheckpointStorage {
      override def location: String = merged.folder.location
      override def create(name: String): StoredOutput = merged.folder.create(name)
      override def open(name: String): StoredInput = merged.folder.open(name)
      override def list(folder: String): Seq[StoredFile] = { lists += 1; merged.folder.list(folder) }
      override def delete(name: String): Boolean = merged.folder.delete(name)
    }
    val (meta, place, length) = merged.handles("state/0/2")
    val files = new MergedFiles(counted)
    val told = new MergedStorage(new MemoryStorage, "state/0/2", files, () => true)
    told.learn(meta.ref, place, length.toLong)
    val folder = StoreFolder.list(told)
    assert(folder.candidates(8, Some(meta.ref.uid)) == Seq(meta.ref) && folder.hasHandle(meta.ref))
    assert(new StateFiles(told).handleMeta(meta.ref) == meta && lists == 0)
  }

  test("a store's folder alone is asked where it has what is wanted, unless a later attempt may be merged") {
    val merged = new Merged
    val own = new MemoryStorage
    val (meta, _, _) = merged.handles("state/0/1")
    val older = VersionRef(8, "00000000-0000-7000-8000-000000000000")
    new FrameWriter(own.create(older.handleName), Frame.HandleMagic, false).finish(Meta.bytes(meta.copy(ref = older)))
    def folder(look: Boolean) =
      StoreFolder.list(new MergedStorage(own, "state/0/1", merged.files, () => look))
    assert(folder(look = false).candidates(8) == Seq(older))
    assert(folder(look = true).candidates(8) == Seq(meta.ref, older), "the latest first")
    // What the folder does not have is looked for in any case.
    assert(folder(look = false).candidates(8, Some(meta.ref.uid)) == Seq(meta.ref))
    assert(folder(look = false).candidates(9).isEmpty && folder(look = true).candidates(9).isEmpty)
    assert(StoreFolder.list(new MergedStorage(own, "state/0/9", merged.files, () => true)).candidates(8) == Seq(older))
  }

  test("a file that is not whole is passed over, and one that is gone is nowhere") {
    val merged = new Merged
    val files = merged.files
    assert(files.of(8).size == 1)
    val half = VersionRef(8, clock.next())
    merged.folder.files(half.mergedName) = merged.whole.take(100)
    assert(files.of(8).map(_.ref) == Seq(merged.ref))
    merged.folder.files -= merged.ref.mergedName
    assert(files.of(8).isEmpty)
    val (meta, _, _) = merged.handles(stores.head)
    intercept[StateNotFound](new StateFiles(merged.told(stores.head)).handleMeta(meta.ref))
  }

  test(
    "any byte that is another, and any cut, is seen by whoever reads the file; a handle that reads is the one that was written"
  ) {
    val merged = new Merged
    val good = merged.whole
    def check(what: String): Unit = {
      assert(
        intercept[SnaplineException](merged.files.read(merged.ref)) match {
          case _: CheckpointDamaged | _: UnsupportedVersion => true
          case _ => false
        },
        what
      )
      stores.foreach { store =>
        val (meta, _, _) = merged.handles(store)
        try assert(new StateFiles(merged.told(store)).handle(meta.ref)._1 == meta, what)
        catch { case _: CheckpointDamaged | _: UnsupportedVersion => () }
      }
    }
    for (at <- good.indices) {
      merged.folder.files(merged.ref.mergedName) = good.updated(at, (good(at) ^ 0x10).toByte)
      check(s"byte $at")
      val (meta, place, length) = merged.handles(stores(2))
      if (at >= place.offset && at < place.offset + length) {
        intercept[SnaplineException](new StateFiles(merged.told(stores(2))).handle(meta.ref)): Unit
      }
    }
    for (length <- good.indices) {
      merged.folder.files(merged.ref.mergedName) = good.take(length)
      check(s"cut to $length")
    }
    merged.folder.files(merged.ref.mergedName) = good
    assert(merged.files.read(merged.ref).size == stores.size)
  }

  test("an index that does not fit the blocks is damage") {
    val merged = new Merged
    val index = merged.files.of(8).head
    def damaged(members: Seq[MergedMember], ref: VersionRef = merged.ref): String = {
      val memory = new MemoryStorage
      val frame = new FrameWriter(memory.create(merged.ref.mergedName), Frame.MergedMagic, false)
      merged.files.readBytes(merged.ref).foreach { case (_, bytes) => frame.block(bytes, 0, bytes.length) }
      frame.finish(index.copy(ref = ref, members = members).bytes)
      intercept[CheckpointDamaged](new MergedFiles(memory).readBytes(merged.ref)).found
    }
    assert(damaged(index.members.init).contains("not its blocks"))
    assert(damaged(index.members.reverse).contains("is no block"))
    assert(damaged(index.members.updated(
      0,
      index.members.head.copy(store = "state/../x")
    )).contains("no store's folder"))
    assert(damaged(index.members, VersionRef(8, clock.next())).contains("it holds version"))
    val shifted = index.members.updated(0, index.members.head.copy(length = index.members.head.length + 12))
    assert(damaged(shifted).contains("is no block"))
  }
}
