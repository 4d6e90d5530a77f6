package io.snapline.snapshot.merged

import java.util.concurrent.{CompletableFuture, CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import scala.util.Random

import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.snapline.snapshot.format.{UidClock, VersionRef}
import io.snapline.storage.{CheckpointStorage, MemoryStorage, WatchedStorage}

class HandleMergerSpec extends AnyFunSuite with Eventually {
  private val clock = new UidClock
  private val random = new Random(7)

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(30, Seconds), Span(10, Millis))

  private final class Handed(val store: String, version: Long, size: Int) {
    val ref: VersionRef = VersionRef(version, clock.next())
    val bytes: Array[Byte] = random.nextBytes(size)
    private val told = new CompletableFuture[Either[Exception, MergedPlace]]
    private val calls = new AtomicInteger

    def to(merger: HandleMerger): Handed = {
      merger.add(store, ref, bytes) { outcome =>
        calls.incrementAndGet()
        told.complete(outcome): Unit
      }
      this
    }

    def isTold: Boolean = told.isDone
    def await(): Either[Exception, MergedPlace] = {
      val outcome = told.get(30, TimeUnit.SECONDS)
      assert(calls.get == 1)
      outcome
    }
    def file: VersionRef = await().fold(throw _, _.fileOf(ref))
  }

  private def handed(partition: Int, version: Long = 8, size: Int = 100): Handed =
    new Handed(s"state/0/$partition", version, size)

  private def content(storage: CheckpointStorage, file: VersionRef): Map[String, Seq[Byte]] =
    new MergedFiles(storage).readBytes(file).map { case (member, bytes) => member.store -> bytes.toSeq }.toMap

  test("handles that come one after another are one file, and each is told its place in it") {
    val storage = new MemoryStorage
    val merger = new HandleMerger(storage, 1 << 20, "test", lingerMs = 300, idleMs = 100)
    val handles = (0 until 20).map(handed(_).to(merger))
    val file = handles.head.file
    assert(storage.files.keySet == Set(file.mergedName) && storage.open == 0)
    handles.foreach { handle =>
      val place = handle.await().toOption.get
      assert(place.fileOf(handle.ref) == file)
      val there = storage.files(file.mergedName).slice(place.offset.toInt, place.offset.toInt + handle.bytes.length)
      assert(there.sameElements(handle.bytes))
    }
    assert(content(storage, file) == handles.map(h => h.store -> h.bytes.toSeq).toMap)
  }

  test("each version has files of its own") {
    val storage = new MemoryStorage
    val merger = new HandleMerger(storage, 1 << 20, "test", lingerMs = 200, idleMs = 100)
    val (one, two) = (handed(0, 8).to(merger), handed(0, 9).to(merger))
    assert(one.file.version == 8 && two.file.version == 9 && storage.files.size == 2)
  }

  test("a file ends before it would be longer than it may be, without a pause") {
    val storage = new MemoryStorage
    val merger = new HandleMerger(storage, 1000, "test", lingerMs = 3000, idleMs = 100)
    val handles = (0 until 8).map(handed(_, size = 300).to(merger))
    val files = handles.take(6).map(_.file)
    assert(files.distinct.size == 2 && files.take(3).distinct.size == 1)
    assert(!handles(6).isTold, "the last has room left")
  }

  test("it waits for those that are expected, and not for ever") {
    val storage = new MemoryStorage
    @volatile var now = 0L
    def merging(patienceMs: Long) = new HandleMerger(
      storage,
      1 << 20,
      "test",
      lingerMs = 50,
      patienceMs,
      idleMs = 100,
      nanoTime = () => TimeUnit.MILLISECONDS.toNanos(now)
    )
    val merger = merging(patienceMs = 60000)
    val (task, snapshot) = (merger.expect(8), merger.expect(8))
    val first = handed(0).to(merger)
    task.close()
    task.close()
    now += 59999
    merger.tick()
    assert(!first.isTold, "a part that is closed twice is one part")
    val second = handed(1).to(merger)
    snapshot.close()
    now += 50
    assert(first.file == second.file)

    val impatient = merging(patienceMs = 400)
    val hung = impatient.expect(8)
    val third = handed(2).to(impatient)
    now += 400
    assert(third.file.version == 8)
    hung.close()
    val fourth = handed(3).to(impatient)
    now += 50
    assert(fourth.file != third.file)
  }

  test("when the file cannot be written all are told, nothing is left, and the next one is") {
    val storage = new MemoryStorage
    val merger = new HandleMerger(storage, 1 << 20, "test", lingerMs = 50, idleMs = 100)
    storage.failWriteTo = Some(".merged")
    val handles = (0 until 3).map(handed(_).to(merger))
    assert(handles.map(_.await()).forall(_.isLeft) && storage.files.isEmpty && storage.open == 0)
    assert(merger.hasRoom(1 << 20), "their bytes count no more")
    assert(handed(0).to(merger).await().isRight)
  }

  test("what follows one handle does not keep the others from theirs") {
    val merger = new HandleMerger(new MemoryStorage, 1 << 20, "test", lingerMs = 50, idleMs = 100)
    merger.add("state/0/0", VersionRef(8, clock.next()), Array[Byte](1))(_ => throw new IllegalStateException("no"))
    assert(handed(1).to(merger).await().isRight)
  }

  test("there is room for two files of handles that wait to be written; nobody is held up") {
    val gate = new CountDownLatch(1)
    val slow = new WatchedStorage(new MemoryStorage, created = _ => gate.await())
    val merger = new HandleMerger(slow, 1000, "test", lingerMs = 50, idleMs = 100)
    assert(merger.hasRoom(1000) && !merger.hasRoom(1001), "a larger one has a file of its own")
    val handles = (0 until 2).map(handed(_, size = 1000).to(merger))
    assert(!merger.hasRoom(1))
    gate.countDown()
    handles.foreach(handle => assert(handle.await().isRight))
    assert(merger.hasRoom(1000))
  }

  test("its thread ends when it is idle") {
    def threads = Thread.getAllStackTraces.keySet.stream.filter(_.getName == "snapline-merge").count
    eventually(assert(threads == 0))
    val merger = new HandleMerger(new MemoryStorage, 1 << 20, "test", lingerMs = 50, idleMs = 100)
    handed(0).to(merger).await(): Unit
    assert(threads == 1)
    eventually(assert(threads == 0))
    assert(handed(1).to(merger).await().isRight)
  }
}
