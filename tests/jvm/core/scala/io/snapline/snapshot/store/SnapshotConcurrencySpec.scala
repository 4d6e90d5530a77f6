package io.snapline.snapshot.store

import java.util.concurrent.{CompletableFuture, CountDownLatch, TimeUnit}

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.SnaplineException
import io.snapline.snapshot.format.{HandleMeta, VersionRef}
import io.snapline.snapshot.merged.StoredHandle
import io.snapline.snapshot.upload.{SnapshotFigures, SnapshotListener, SnapshotPool}
import io.snapline.storage.{CheckpointStorage, GatedStorage}

/** Snapshots are made while the next versions are: each must hold its own version and nothing of a later one. */
abstract class SnapshotConcurrencyOn(backend: TestBackend) extends AnyFunSuite {
  private type Rows = Map[String, String]

  private final class Outcome extends SnapshotListener {
    private val told = new CompletableFuture[Either[Exception, HandleMeta]]
    override def made(handle: StoredHandle, figures: SnapshotFigures, mayReuse: () => Unit): Unit =
      assert(told.complete(Right(handle.meta)))
    override def failed(reason: Exception): Unit = assert(told.complete(Left(reason)))
    def await(): Either[Exception, HandleMeta] = told.get(30, TimeUnit.SECONDS)
  }

  /** A store, what its versions hold, and the version made last. */
  private final class Run(fixture: StoreFixture, seed: Int) {
    val random = new Random(seed)
    val state: VersionedState = fixture.open()
    var versions = Map(0L -> (Map.empty: Rows))
    var refs = Map.empty[Long, VersionRef]
    var newest = 0L

    def load(): Unit = {
      state.load(newest, refs.get(newest).map(_.uid))
      Seq("default", "lists").foreach(name =>
        state.backend.createFamily(name, keyGroups = false, multi = name == "lists", internal = false)
      )
    }

    def batch(
        scans: Boolean,
        valueLength: Int = 40,
        force: Boolean = false,
        checkpoint: Option[SnapshotListener] = None
    ): Unit = {
      load()
      var rows = versions(newest)
      val (single, lists) = (state.backend.family("default"), state.backend.family("lists"))
      (0 until 60).foreach { i =>
        val key = s"k${random.nextInt(200)}"
        val value = s"$newest-$i-" + "x" * random.nextInt(valueLength)
        random.nextInt(10) match {
          case 0 =>
            single.delete(key.getBytes): Unit
            rows -= s"default $key"
          case 1 | 2 =>
            lists.merge(key.getBytes, value.getBytes)
            rows += s"lists $key" -> (rows.getOrElse(s"lists $key", "") + value)
          case 3 if scans => assert(all(state) == rows)
          case _ =>
            single.put(key.getBytes, value.getBytes)
            rows += s"default $key" -> value
        }
      }
      refs += newest + 1 -> state.commit(force, checkpoint)
      newest += 1
      versions += newest -> rows
    }

    /** Every handle alone holds exactly its version. */
    def check(): Set[Long] = {
      val audit = new StoreAudit(fixture.plainStorage)
      assert(audit.broken.isEmpty)
      val reader = fixture.open()
      try
        audit.wholeHandles.map { handle =>
          val ref = handle.ref
          reader.loadFrom(ref.version, Some(ref.uid), ref.version, Some(ref.uid))
          assert(all(reader) == versions(ref.version), s"snapshot $ref")
          assert(reader.backend.families.map(_.keyCount).sum == versions(ref.version).size, s"keys of snapshot $ref")
          ref.version
        }.toSet
      finally reader.close()
    }
  }

  private def all(state: VersionedState): Rows = state.backend.families.flatMap { family =>
    val cursor = family.iterate()
    val rows = Seq.newBuilder[(String, String)]
    while (cursor.next()) rows += s"${family.descriptor.name} ${new String(cursor.key)}" -> new String(cursor.value)
    rows.result()
  }.toMap

  private def withStore(
      changelogs: Int = 1,
      tableBytes: Long = 64L << 20,
      storageOf: CheckpointStorage => CheckpointStorage = identity,
      pool: SnapshotPool = StoreFixture.pool
  )(body: (StoreFixture, Run) => Unit): Unit = {
    val fixture =
      new StoreFixture(
        StateSettings(policy = SnapshotPolicy(minChangelogs = changelogs)),
        tableBytes,
        storageOf,
        pool,
        backend = backend
      )
    try {
      body(fixture, new Run(fixture, seed = 17))
      fixture.closeStores()
      assert(fixture.localFolders.isEmpty, "local files are gone")
      assert(fixture.memoryUsed == 0)
    } finally fixture.close()
  }

  for {
    scans <- Seq(true, false)
    (room, tableBytes, length) <- Seq(("roomy table", 64L << 20, 40), ("no room in the table", 0L, 30000))
  } test(s"snapshots in the pool while versions go on: $room, scans $scans") {
    withStore(tableBytes = tableBytes) { (_, run) =>
      // Quick batches may all be over before the first snapshot is.
      (0 until 3).foreach { _ =>
        (0 until 10).foreach(_ => run.batch(scans, length))
        run.state.awaitSnapshot()
      }
      assert(run.check().size > 1)
    }
  }

  test("a scan that needs later changes carries out the marker before them") {
    val busy = new SnapshotPool(1)
    val free = new CountDownLatch(1)
    withStore(changelogs = 3, pool = busy) { (fixture, run) =>
      (0 until 2).foreach(_ => run.batch(scans = false))
      busy.submit(() => free.await(30, TimeUnit.SECONDS): Unit)
      // A snapshot of version 3 is due and nobody is there to make it; the changes go on over it.
      (0 until 4).foreach(_ => run.batch(scans = true))
      assert(new StoreAudit(fixture.plainStorage).wholeHandles.isEmpty)
      free.countDown()
      run.state.awaitSnapshot()
      assert(run.check() == Set(3L))
    }
  }

  test("memory pressure carries out the marker as well") {
    val busy = new SnapshotPool(1)
    val free = new CountDownLatch(1)
    withStore(changelogs = 3, tableBytes = 0, pool = busy) { (_, run) =>
      (0 until 2).foreach(_ => run.batch(scans = false, 30000))
      busy.submit(() => free.await(30, TimeUnit.SECONDS): Unit)
      (0 until 4).foreach(_ => run.batch(scans = false, 30000))
      free.countDown()
      run.state.awaitSnapshot()
      assert(run.check() == Set(3L))
    }
  }

  for (held <- Seq(".sst", ".handle"))
    test(s"versions go on while an upload hangs at its $held, and only one is made at a time") {
      var gate: GatedStorage = null
      withStore(storageOf = plain => { gate = new GatedStorage(plain); gate }) { (fixture, run) =>
        gate.hold(held)
        run.batch(scans = true)
        gate.awaitArrival()
        (0 until 5).foreach(_ => run.batch(scans = true))
        assert(new StoreAudit(fixture.plainStorage).wholeHandles.isEmpty)
        // Another process loads what has been committed meanwhile.
        val other = fixture.open()
        other.load(run.newest, None)
        assert(all(other) == run.versions(run.newest))
        gate.release()
        run.state.awaitSnapshot()
        assert(run.check() == Set(1L))
        run.batch(scans = false)
        run.state.awaitSnapshot()
        assert(run.check() == Set(1L, 7L))
      }
    }

  private def after(millis: Long)(body: => Unit): Thread = {
    val thread = new Thread(() => { Thread.sleep(millis); body })
    thread.start()
    thread
  }

  for (held <- Seq(".sst", ".handle"); how <- Seq("closed", "aborted")) {
    test(s"a store $how while an upload hangs at its $held") {
      var gate: GatedStorage = null
      withStore(storageOf = plain => { gate = new GatedStorage(plain); gate }) { (fixture, run) =>
        gate.hold(held)
        run.batch(scans = false)
        gate.awaitArrival()
        if (how == "closed") {
          // It waits for an upload that ends soon.
          val later = after(200)(gate.release())
          run.state.close()
          later.join()
          assert(run.check() == Set(1L) && new StoreAudit(fixture.plainStorage).orphans.isEmpty)
        } else {
          run.load()
          run.state.backend.family("default").put("k1".getBytes, Array[Byte](1))
          run.state.abort()
          gate.release()
        }
        val next = fixture.open()
        next.load(1, None)
        assert(all(next) == run.versions(1))
        next.backend.family("default").put("k".getBytes, "v".getBytes)
        assert(next.commit(forceSnapshot = true).version == 2)
        // What was begun may end or not: what is visible is whole.
        val until = System.nanoTime() + TimeUnit.SECONDS.toNanos(10)
        while (fixture.localFolders.exists(_.contains("snapshot")) && System.nanoTime() < until) Thread.sleep(10)
        run.versions += 2L -> (run.versions(1) + ("default k" -> "v"))
        assert(run.check().contains(2L))
      }
    }
  }

  test("a close that is interrupted while it waits for an upload leaves nothing behind") {
    var gate: GatedStorage = null
    withStore(storageOf = plain => { gate = new GatedStorage(plain); gate }) { (fixture, run) =>
      gate.hold(".handle")
      run.batch(scans = true)
      gate.awaitArrival()
      Thread.currentThread().interrupt()
      run.state.close()
      assert(Thread.interrupted(), "the caller still learns of it")
      assert(fixture.memoryUsed == 0 && fixture.localFolders.forall(_.contains("snapshot")))
      gate.release()
      val until = System.nanoTime() + TimeUnit.SECONDS.toNanos(10)
      while (fixture.localFolders.nonEmpty && System.nanoTime() < until) Thread.sleep(10)
    }
  }

  test("a close that is interrupted while a batch that was run again has a snapshot to make leaves nothing behind") {
    val busy = new SnapshotPool(1)
    val free = new CountDownLatch(1)
    withStore(changelogs = 1000, pool = busy) { (fixture, run) =>
      busy.submit(() => free.await(30, TimeUnit.SECONDS): Unit)
      run.batch(scans = false, checkpoint = Some(new Outcome))
      run.newest -= 1
      run.load()
      Thread.currentThread().interrupt()
      try run.state.close()
      finally assert(Thread.interrupted(), "the caller still learns of it")
      assert(fixture.memoryUsed == 0)
      free.countDown()
    }
  }

  for (how <- Seq("closed", "aborted")) test(s"a store $how before its snapshot was begun") {
    val busy = new SnapshotPool(1)
    val free = new CountDownLatch(1)
    withStore(pool = busy) { (fixture, run) =>
      busy.submit(() => free.await(30, TimeUnit.SECONDS): Unit)
      run.batch(scans = false)
      if (how == "closed") {
        val later = after(200)(free.countDown())
        run.state.close()
        later.join()
      } else {
        run.load()
        run.state.backend.family("default").put("k1".getBytes, Array[Byte](1))
        run.state.abort()
        free.countDown()
      }
      val done = new CountDownLatch(1)
      busy.submit(() => done.countDown())
      assert(done.await(30, TimeUnit.SECONDS))
      assert(run.check() == (if (how == "closed") Set(1L) else Set.empty))
      val next = fixture.open()
      next.load(1, None)
      assert(all(next) == run.versions(1))
    }
  }

  test("a forced snapshot waits for the one that is under way") {
    var gate: GatedStorage = null
    withStore(storageOf = plain => { gate = new GatedStorage(plain); gate }) { (_, run) =>
      gate.hold(".handle")
      run.batch(scans = false)
      gate.awaitArrival()
      val later = after(200)(gate.release())
      run.batch(scans = true, force = true)
      later.join()
      assert(run.check() == Set(1L, 2L))
    }
  }

  for (force <- Seq(false, true))
    test(
      s"a snapshot for a checkpoint that waits for a thread waits for none behind it, one forced meanwhile: $force"
    ) {
      val one = new SnapshotPool(1)
      val free = new CountDownLatch(1)
      withStore(changelogs = 2, pool = one) { (_, run) =>
        try {
          run.batch(scans = false)
          one.submit(() => free.await(30, TimeUnit.SECONDS): Unit)
          val outcome = new Outcome
          run.batch(scans = false, checkpoint = Some(outcome))
          // By its policy a snapshot is due: that of version 2 is not made yet.
          run.batch(scans = false, force = force)
          run.batch(scans = false)
          free.countDown()
          assert(outcome.await().map(_.ref) == Right(run.refs(2)))
          run.state.awaitSnapshot()
          assert(run.check() == (if (force) Set(2L, 3L) else Set(2L)))
          // Its policy is followed again.
          run.batch(scans = false)
          run.state.awaitSnapshot()
          assert(run.check().contains(5L))
        } finally free.countDown()
      }
    }

  test("clean-up while snapshots are uploaded takes nothing they name") {
    val settings = StateSettings(retain = 2, minStale = 0, policy = SnapshotPolicy(minChangelogs = 1))
    val fixture = new StoreFixture(settings, backend = backend)
    try {
      val run = new Run(fixture, seed = 23)
      @volatile var stop = false
      @volatile var failure: Throwable = null
      val cleaner = new Thread(() =>
        while (!stop)
          try run.state.cleanUp()
          catch { case _: SnaplineException => (); case e: Throwable => failure = e }
      )
      cleaner.start()
      try (0 until 40).foreach(_ => run.batch(scans = false))
      finally {
        stop = true
        cleaner.join()
      }
      run.state.awaitSnapshot()
      assert(failure == null)
      run.check(): Unit
      val reader = fixture.open()
      Seq(run.newest - 1, run.newest).foreach { version =>
        reader.load(version, Some(run.refs(version).uid))
        assert(all(reader) == run.versions(version))
      }
    } finally fixture.close()
  }
}

class SnapshotConcurrencySpec extends SnapshotConcurrencyOn(TestBackend.RocksDb)

class SnapshotConcurrencyOnHashMapSpec extends SnapshotConcurrencyOn(TestBackend.HashMap)

class SnapshotConcurrencyOnNestedHashMapSpec extends SnapshotConcurrencyOn(TestBackend.NestedHashMap)
