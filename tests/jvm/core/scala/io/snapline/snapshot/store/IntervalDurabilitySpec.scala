package io.snapline.snapshot.store

import java.util.concurrent.{CompletableFuture, CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicBoolean

import scala.util.Random

import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.snapline.error.{CheckpointDamaged, StateNotFound}
import io.snapline.snapshot.format.{HandleMeta, VersionRef}
import io.snapline.snapshot.merged.StoredHandle
import io.snapline.snapshot.upload.{SnapshotFigures, SnapshotListener, SnapshotPool}
import io.snapline.storage.{Fault, FaultPlan, FaultyFileSystem, WatchedStorage}

/** Versions that are durable in the executor's folder only, and the checkpoints between them
  * (docs/notes/004-checkpoints.md).
  */
abstract class IntervalDurabilityOn(backend: TestBackend) extends AnyFunSuite with Eventually {

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(30, Seconds), Span(10, Millis))

  private final class Outcome(confirms: Boolean = true) extends SnapshotListener {
    private val told = new CompletableFuture[Either[Exception, HandleMeta]]
    @volatile var late: () => Unit = () => ()
    override def made(handle: StoredHandle, figures: SnapshotFigures, mayReuse: () => Unit): Unit = {
      if (confirms) mayReuse()
      late = mayReuse
      assert(told.complete(Right(handle.meta)))
    }
    override def failed(reason: Exception): Unit = assert(told.complete(Left(reason)))
    def await(): Either[Exception, HandleMeta] = told.get(30, TimeUnit.SECONDS)
  }

  private def withStore(body: StoreFixture => Unit): Unit = {
    val fixture = new StoreFixture(storageOf = FaultyFileSystem.over, backend = backend)
    try body(fixture)
    finally fixture.close()
  }

  private def put(state: VersionedState, key: String, value: String): Unit =
    state.backend.createFamily("default", keyGroups = false, multi = false, internal = false)
      .put(key.getBytes, value.getBytes)

  private def get(state: VersionedState, key: String): Option[String] =
    Option(state.backend.family("default")).flatMap(family => Option(family.get(key.getBytes))).map(new String(_))

  private def batch(state: VersionedState, version: Long, value: String): VersionRef = {
    state.load(version, None, interval = true)
    put(state, "k", value)
    put(state, s"k$version", value)
    state.commit()
  }

  private def checkpoint(
      state: VersionedState,
      version: Long,
      value: String,
      confirms: Boolean = true
  ): (VersionRef, Outcome) = {
    val outcome = new Outcome(confirms)
    state.load(version, None, interval = true)
    put(state, "k", value)
    (state.commit(checkpoint = Some(outcome)), outcome)
  }

  /** The first checkpoint, of so many rows that they are in table files. */
  private def filled(state: VersionedState, confirms: Boolean = true): Outcome = {
    val outcome = new Outcome(confirms)
    state.load(0, None, interval = true)
    (0 until 3000).foreach(i => put(state, s"row$i", "x" * 200))
    state.commit(checkpoint = Some(outcome)): Unit
    outcome
  }

  private def near(fixture: StoreFixture): Seq[String] = Option(fixture.nearFolder(0).list()).toSeq.flatten

  test("a batch writes nothing to storage, and an aborted attempt goes back to it") {
    withStore { fixture =>
      val state = fixture.open()
      (0 until 12).foreach(version => batch(state, version, s"v$version"))
      assert(fixture.fileNames.isEmpty)
      state.load(12, None, interval = true)
      put(state, "k", "never")
      state.abort()
      state.load(12, None, interval = true)
      assert(get(state, "k").contains("v11") && get(state, "k0").contains("v0"))
      // Another executor has no way to it.
      assertThrows[StateNotFound](fixture.open().load(12, None, interval = true))
    }
  }

  test("a checkpoint is one handle of the version's uid, and takes the changelogs it covers along") {
    withStore { fixture =>
      val state = fixture.open()
      (0 until 3).foreach(version => batch(state, version, s"v$version"))
      val (ref, outcome) = checkpoint(state, 3, "checked")
      assert(outcome.await().map(_.ref) == Right(ref))
      assert(fixture.fileNames.filterNot(_ == "sst") == Seq(ref.handleName))
      assert(near(fixture).count(_.endsWith(".changelog")) == 4, "the batch may be run again")
      assert(near(fixture).contains(ref.handleName), "the executor's own copy")
      state.load(4, None, interval = true)
      eventually(assert(near(fixture).toSet == Set(ref.handleName, "sst"), "the copy, and no changelog"))
      batch(state, 4, "later")
      assert(near(fixture).count(_.endsWith(".changelog")) == 1)
      val other = fixture.open()
      other.load(4, Some(ref.uid), interval = true)
      assert(get(other, "k").contains("checked") && get(other, "k2").contains("v2"))
      // Above the handle on the same executor, after an abort.
      state.load(5, None, interval = true)
      put(state, "k", "never")
      state.abort()
      state.load(5, None, interval = true)
      assert(get(state, "k").contains("later") && get(state, "k4").contains("later") && get(state, "k0").contains("v0"))
    }
  }

  test("the next checkpoint uploads only table files that are new") {
    withStore { fixture =>
      val state = fixture.open()
      val first = filled(state)
      val one = first.await().toOption.get
      val (_, outcome) = checkpoint(state, 1, "small")
      val two = outcome.await().toOption.get
      assert(one.uploadedFiles == one.files.size)
      assert((two.uploadedBytes < one.uploadedBytes / 10) == backend.shares)
      assert(one.files.map(_.uid).toSet.subsetOf(two.files.map(_.uid).toSet) == backend.shares)
    }
  }

  test("what the coordinator has not answered for is uploaded again") {
    withStore { fixture =>
      val state = fixture.open()
      val first = filled(state, confirms = false)
      val one = first.await().toOption.get
      val (_, outcome) = checkpoint(state, 1, "small")
      val two = outcome.await().toOption.get
      assert(two.files.map(_.uid).toSet.intersect(one.files.map(_.uid).toSet).isEmpty)
      assert(two.uploadedFiles == two.files.size)
    }
  }

  for (late <- Seq(false, true))
    test(s"what the coordinator has answered for is not named behind a snapshot that it has not, answered late $late") {
      withStore { fixture =>
        val state = fixture.open()
        val outcome = filled(state, confirms = !late)
        def uids(of: Outcome): Set[String] = of.await().toOption.get.files.map(_.uid).toSet
        val first = uids(outcome)
        val second = uids(checkpoint(state, 1, "small", confirms = false)._2)
        assert(first.subsetOf(second) == (backend.shares && !late))
        // The newest that the coordinator holds may be the second: it need not have the first any more.
        if (late) outcome.late()
        val third = uids(checkpoint(state, 2, "again")._2)
        assert(third.intersect(first ++ second).isEmpty)
        assert(third.subsetOf(uids(checkpoint(state, 3, "and again")._2)) == backend.shares)
      }
    }

  test("a snapshot right behind another one waits for the answer about its files, and names them") {
    withStore { fixture =>
      val state = fixture.open()
      val first = filled(state, confirms = false)
      val one = first.await().toOption.get
      val (_, second) = checkpoint(state, 1, "small")
      Thread.sleep(100)
      first.late()
      val two = second.await().toOption.get
      assert(one.files.map(_.uid).toSet.subsetOf(two.files.map(_.uid).toSet) == backend.shares)
    }
  }

  test("where each batch is durable, too, nothing is named of before a snapshot that was not answered for") {
    withStore { fixture =>
      val state = fixture.open()
      def snapshot(version: Long, confirms: Boolean): Set[String] = {
        val outcome = new Outcome(confirms)
        state.load(version, None)
        put(state, s"row$version", "small")
        state.commit(checkpoint = Some(outcome))
        outcome.await().toOption.get.files.map(_.uid).toSet
      }
      state.load(0, None)
      (0 until 3000).foreach(i => put(state, s"row$i", "x" * 200))
      state.commit(forceSnapshot = true)
      val first = snapshot(1, confirms = false)
      val second = snapshot(2, confirms = true)
      assert(second.intersect(first).isEmpty)
      assert(second.subsetOf(snapshot(3, confirms = true)) == backend.shares)
    }
  }

  test("a store that was reloaded builds only on the checkpoint its run was restored from") {
    withStore { fixture =>
      val state = fixture.open()
      val (ref, outcome) = checkpoint(state, 0, "a")
      val uids = outcome.await().toOption.get.files.map(_.uid).toSet
      def next(base: Option[VersionRef]): Set[String] = {
        val other = fixture.open()
        other.load(1, Some(ref.uid), interval = true, base = base)
        put(other, "k", "b")
        val told = new Outcome
        other.commit(checkpoint = Some(told))
        told.await().toOption.get.files.map(_.uid).toSet
      }
      assert(uids.subsetOf(next(Some(ref))) == backend.shares)
      assert(uids.intersect(next(None)).isEmpty)
      assert(uids.intersect(next(Some(ref.copy(uid = "01a1ff0d-2a25-7b3c-a580-5e00e147a727")))).isEmpty)
    }
  }

  test("a checkpoint may begin while the one before is still on its way") {
    withStore { fixture =>
      val state = fixture.open()
      val outcomes = (0 until 6).map { i =>
        batch(state, 2L * i, s"b$i")
        checkpoint(state, 2L * i + 1, s"c$i")
      }
      outcomes.foreach { case (ref, outcome) => assert(outcome.await().map(_.ref) == Right(ref)) }
      outcomes.zipWithIndex.foreach { case ((ref, _), i) =>
        val other = fixture.open()
        other.load(ref.version, Some(ref.uid))
        assert(get(other, "k").contains(s"c$i") && get(other, s"k${2 * i}").contains(s"b$i"))
        other.close()
      }
      // Counts of what lies above the last snapshot are right again: a durable commit names it as its base.
      state.load(12, None)
      put(state, "k", "durable")
      state.commit()
      val fresh = fixture.open()
      fresh.load(13, None)
      assert(get(fresh, "k").contains("durable"))
      assert(fresh.stats.replayed == 1)
    }
  }

  test("a checkpoint that cannot be written is declined; nothing is lost and the next one holds everything") {
    withStore { fixture =>
      val state = fixture.open()
      batch(state, 0, "a")
      FaultyFileSystem.plan.set(new FaultPlan(0, Fault.Before))
      val (_, refused) = checkpoint(state, 1, "b")
      assert(refused.await().isLeft)
      FaultyFileSystem.plan.set(FaultPlan.none)
      state.load(2, None, interval = true)
      put(state, "k", "never")
      state.abort()
      val (ref, outcome) = checkpoint(state, 2, "c")
      assert(outcome.await().map(_.ref) == Right(ref))
      val other = fixture.open()
      other.load(3, Some(ref.uid))
      assert(get(other, "k").contains("c") && get(other, "k0").contains("a"))
    }
  }

  test(
    "between two batches the version committed last can have its snapshot, once, and the next batch goes on from it"
  ) {
    withStore { fixture =>
      val state = fixture.open()
      val older = batch(state, 0, "a")
      val ref = batch(state, 1, "b")
      assert(!state.checkpoint(older, new Outcome), "another version is held")
      val outcome = new Outcome
      assert(state.checkpoint(ref, outcome))
      state.load(2, None, interval = true)
      put(state, "k", "c")
      state.commit(): Unit
      assert(outcome.await().map(_.ref) == Right(ref))
      assert(fixture.fileNames.filterNot(_ == "sst") == Seq(ref.handleName))
      val other = fixture.open()
      other.load(2, Some(ref.uid))
      assert(get(other, "k").contains("b") && get(other, "k0").contains("a"))
      state.load(3, None, interval = true)
      put(state, "k", "never")
      state.abort()
      state.load(3, None, interval = true)
      assert(get(state, "k").contains("c"), "the changelog behind the snapshot is there")
    }
  }

  test("between two batches there is no snapshot of what a task has opened, of what has one, and of what is durable") {
    withStore { fixture =>
      val state = fixture.open()
      val ref = batch(state, 0, "a")
      state.load(1, None, interval = true)
      assert(!state.checkpoint(ref, new Outcome), "opened for changes")
      state.abort()
      assert(!state.checkpoint(ref, new Outcome), "and not asked to commit any")
      val (checked, outcome) = checkpoint(state, 1, "b")
      assert(outcome.await().isRight && !state.checkpoint(checked, new Outcome))
      state.close()
      assert(!state.checkpoint(checked, new Outcome))
      val durable = fixture.open()
      durable.load(2, Some(checked.uid))
      put(durable, "k", "c")
      assert(!durable.checkpoint(durable.commit(), new Outcome))
    }
  }

  test("random batches, aborts and checkpoints: every checkpoint holds what the versions up to it made") {
    val seeds = sys.props.get("snapline.test.seeds").fold(Seq(1L, 2L))(_.split(',').toSeq.map(_.toLong))
    seeds.foreach { seed =>
      withStore { fixture =>
        val random = new Random(seed)
        val state = fixture.open()
        var version = 0L
        var model = Map.empty[String, String]
        var checkpoints = Seq.empty[(VersionRef, Outcome, Map[String, String])]
        (0 until 150).foreach { step =>
          state.load(version, None, interval = true)
          var next = model
          (0 until random.nextInt(20)).foreach { _ =>
            val key = s"k${random.nextInt(50)}"
            if (random.nextInt(4) == 0 && next.contains(key)) {
              state.backend.family("default").delete(key.getBytes)
              next -= key
            } else {
              put(state, key, s"$seed-$step")
              next += key -> s"$seed-$step"
            }
          }
          random.nextInt(10) match {
            case 0 =>
              // One that has not reached the pool yet ends with the backend: the last test.
              checkpoints.foreach(_._2.await())
              state.abort()
            case 1 | 2 =>
              val outcome = new Outcome
              put(state, "always", s"$step")
              next += "always" -> s"$step"
              checkpoints :+= ((state.commit(checkpoint = Some(outcome)), outcome, next))
              model = next
              version += 1
            case _ =>
              put(state, "always", s"$step")
              next += "always" -> s"$step"
              val ref = state.commit()
              model = next
              version += 1
              if (random.nextInt(6) == 0) {
                val outcome = new Outcome
                assert(state.checkpoint(ref, outcome))
                checkpoints :+= ((ref, outcome, next))
              }
          }
        }
        checkpoints.foreach { case (ref, outcome, expected) =>
          assert(outcome.await().isRight, s"seed $seed")
          val other = fixture.open()
          other.load(ref.version, Some(ref.uid))
          val keys = (0 until 50).map(i => s"k$i") :+ "always"
          keys.foreach(key => assert(get(other, key) == expected.get(key), s"seed $seed, version ${ref.version}, $key"))
          other.close()
        }
      }
    }
  }

  test("an abort while a checkpoint is on its way: it is made whole, or declined") {
    withStore { fixture =>
      val state = fixture.open()
      (0L until 40L).foreach { version =>
        val (ref, outcome) = checkpoint(state, version, s"v$version")
        state.load(version + 1, None, interval = true)
        put(state, "k", "never")
        state.abort()
        outcome.await().foreach { meta =>
          val other = fixture.open()
          other.load(ref.version, Some(meta.ref.uid))
          assert(get(other, "k").contains(s"v$version"))
          other.close()
        }
        state.load(version + 1, None, interval = true)
        assert(get(state, "k").contains(s"v$version"))
      }
    }
  }

  for (format <- 1 to 2; merging <- Seq(false, true); localBackup <- Seq(true, false))
    test(s"every batch is run twice, barriers too: format $format, merged files $merging, own copies $localBackup") {
      val settings = StateSettings(localBackup = localBackup)
      val fixture = new StoreFixture(settings, storageOf = FaultyFileSystem.over, backend = backend, merging = merging)
      try {
        val state = fixture.open()
        var refs = Map.empty[Long, VersionRef]
        def attempt(version: Long, value: String): Option[Outcome] = {
          // Format 1 names no attempt.
          state.load(version, refs.get(version).map(_.uid).filter(_ => format == 2), interval = true)
          assert(get(state, "k") == Option.when(version > 0)(s"second of ${version - 1}"))
          (0L until version).foreach(older => assert(get(state, s"k$older").contains(s"second of $older")))
          assert(get(state, s"k$version").isEmpty)
          put(state, "k", value)
          put(state, s"k$version", value)
          val outcome = Option.when(version % 4 == 3)(new Outcome)
          refs += version + 1 -> state.commit(checkpoint = outcome)
          outcome
        }
        (0L until 14L).foreach { version =>
          attempt(version, s"first of $version").foreach(outcome => assert(outcome.await().isRight))
          state.awaitSnapshot(): Unit
          attempt(version, s"second of $version").foreach { outcome =>
            // Of half of the barriers the next batch begins first.
            if (version % 8 == 3) assert(outcome.await().map(_.ref) == Right(refs(version + 1)))
          }
        }
        state.load(14, refs.get(14).map(_.uid).filter(_ => format == 2), interval = true)
        state.awaitSnapshot(): Unit
        // Two attempts at versions 13 and 14, and what a barrier has left that was overtaken.
        eventually(assert(near(fixture).count(_.endsWith(".changelog")) <= 4))
        eventually(assert(near(fixture).count(_.endsWith(".handle")) <= 1))
      } finally fixture.close()
    }

  test("a snapshot of an attempt that does not count takes nothing of the one that does") {
    withStore { fixture =>
      val state = fixture.open()
      (0 until 3).foreach(version => batch(state, version, s"v$version"))
      val (_, first) = checkpoint(state, 3, "first")
      assert(first.await().isRight)
      val refused = new Outcome
      state.load(3, None, interval = true)
      put(state, "k", "second")
      FaultyFileSystem.plan.set(new FaultPlan(0, Fault.Before))
      val second = state.commit(checkpoint = Some(refused))
      assert(refused.await().isLeft)
      FaultyFileSystem.plan.set(FaultPlan.none)
      state.load(4, Some(second.uid), interval = true)
      put(state, "k", "never")
      state.abort()
      state.load(4, Some(second.uid), interval = true)
      assert(get(state, "k").contains("second") && get(state, "k2").contains("v2"))
    }
  }

  test("of two attempts the one that the batch began with is loaded again, though its first read fails") {
    val fixture =
      new StoreFixture(StateSettings(localBackup = false), storageOf = FaultyFileSystem.over, backend = backend)
    try {
      val state = fixture.open()
      assert(checkpoint(state, 0, "base")._2.await().isRight)
      batch(state, 1, "first")
      val second = batch(state, 1, "second")
      state.load(2, None, interval = true)
      eventually(assert(near(fixture).forall(_.startsWith("2_")), "nothing older to fall back on"))
      put(state, "k", "never")
      state.abort()
      val isHit = new AtomicBoolean
      FaultyFileSystem.plan.set(new FaultPlan(-1, Fault.Before) {
        override def next(operation: String): Option[Fault] =
          if (operation.startsWith("read") && isHit.compareAndSet(false, true)) Some(Fault.Silent) else None
      })
      state.load(2, None, interval = true)
      assert(isHit.get && state.current.contains(second) && get(state, "k").contains("second"))
    } finally {
      FaultyFileSystem.plan.set(FaultPlan.none)
      fixture.close()
    }
  }

  test("a version is loaded although snapshots end one after the other while it is read") {
    val gates = Map(1 -> new CountDownLatch(1), 2 -> new CountDownLatch(1))
    val isUnderWay = new CountDownLatch(1)
    var ending: Seq[Int] = Nil
    def hold(name: String): Unit = {
      isUnderWay.countDown()
      gates.get(name.takeWhile(_ != '_').toInt).foreach(gate => assert(gate.await(30, TimeUnit.SECONDS)))
    }
    // Each reading of changelog 2 lets one more snapshot end first, which takes a changelog along.
    def end(fixture: StoreFixture, name: String): Unit = if (name.startsWith("2_")) ending.headOption.foreach { next =>
      ending = ending.tail
      gates(next).countDown()
      eventually(assert(!near(fixture).exists(file => file.startsWith(s"${next}_") && file.endsWith(".changelog"))))
    }
    lazy val fixture: StoreFixture = new StoreFixture(
      StoreFixture.defaults.copy(localBackup = false),
      storageOf = new WatchedStorage(_, created = name => if (name.endsWith(".handle")) hold(name)),
      // Both snapshots are held at once: with threads that another suite holds too, the first might never get one.
      pool = new SnapshotPool(2),
      backend = backend,
      nearOf = new WatchedStorage(_, opened = name => end(fixture, name))
    )
    try {
      val state = fixture.open()
      // A store makes one snapshot at a time, and takes any that waits.
      val begun = (0 until 2).map { version =>
        val (_, outcome) = checkpoint(state, version, s"v$version")
        assert(isUnderWay.await(30, TimeUnit.SECONDS))
        outcome
      }
      batch(state, 2, "v2")
      ending = Seq(1, 2)
      state.load(2, None, interval = true)
      assert(ending.isEmpty && get(state, "k").contains("v1"))
      begun.foreach(outcome => assert(outcome.await().isRight))
    } finally fixture.close()
  }

  test("a snapshot that waits for a thread is made, although its batch is run again meanwhile") {
    val busy = new SnapshotPool(1)
    val free = new CountDownLatch(1)
    val fixture = new StoreFixture(pool = busy, backend = backend)
    try {
      val state = fixture.open()
      (0 until 3).foreach(version => batch(state, version, s"v$version"))
      busy.submit(() => free.await(30, TimeUnit.SECONDS): Unit)
      val (first, one) = checkpoint(state, 3, "first")
      val (second, two) = checkpoint(state, 3, "second")
      assert(second.uid > first.uid)
      // What the second attempt has changed and takes back is none of the snapshot's.
      state.load(4, Some(second.uid), interval = true)
      put(state, "k", "never")
      free.countDown()
      state.abort()
      for ((ref, outcome, value) <- Seq((first, one, "first"), (second, two, "second"))) {
        assert(outcome.await().map(_.ref) == Right(ref))
        val other = fixture.open()
        other.load(4, Some(ref.uid), interval = true)
        assert(get(other, "k").contains(value) && get(other, "k2").contains("v2"))
      }
    } finally {
      free.countDown()
      fixture.close()
    }
  }

  test("a thousand batches hold no more than a few do") {
    val fixture = new StoreFixture(StateSettings(retain = Int.MaxValue - 1), backend = backend)
    try {
      val state = fixture.open()
      val held = (0L until 1000L).map { version =>
        if (version % 50 == 49) assert(checkpoint(state, version, s"v$version")._2.await().isRight)
        else batch(state, version, s"v$version")
        state.remembered
      }
      assert(held.max <= held.take(60).max, held.max)
    } finally fixture.close()
  }

  for (merging <- Seq(false, true))
    test(s"changelogs behind the batches: another executor goes on where this one was lost, merged files $merging") {
      val fixture = new StoreFixture(StateSettings(), backend = backend, merging = merging)
      try {
        def next(state: VersionedState, before: VersionRef, covered: Long): VersionRef = {
          state.load(before.version, Some(before.uid), interval = true, covered = Some(covered))
          put(state, "k", s"v${before.version}")
          put(state, s"k${before.version}", "there")
          state.commit()
        }
        def changelogs: Seq[String] = fixture.fileNames.filter(_.endsWith(".changelog"))
        val state = fixture.open()
        val (base, outcome) = checkpoint(state, 0, "checked")
        assert(outcome.await().isRight && changelogs.isEmpty)
        val refs = (0 until 5).scanLeft(base)((before, _) => next(state, before, covered = 1))
        eventually(assert(changelogs.toSet == refs.tail.map(_.changelogName).toSet))
        // A second attempt of the last batch, which counts, is copied while the other executor waits for it.
        val other = fixture.open()
        val second = next(state, refs(4), covered = 1)
        val last = next(other, second, covered = 1)
        assert(get(other, "k").contains("v6") && (1 to 6).forall(n => get(other, s"k$n").contains("there")))
        // A durable run, as after a start without an interval, reads them as its own.
        eventually(assert(changelogs.contains(last.changelogName)))
        val durable = fixture.open()
        durable.load(last.version, Some(last.uid))
        assert(get(durable, "k").contains("v6") && get(durable, "k6").contains("there"))
        // Those that a checkpoint has go, by whoever copied them.
        state.load(last.version, Some(last.uid), interval = true, covered = Some(last.version))
        eventually(assert(changelogs == Seq(last.changelogName)))
        other.load(last.version, Some(last.uid), interval = true, covered = Some(last.version))
        eventually(assert(changelogs.isEmpty))
      } finally fixture.close()
    }

  test("a version that nobody copies is missing after a while, and not at once") {
    withStore { fixture =>
      val ref = batch(fixture.open(), 0, "a")
      val begun = System.nanoTime()
      assertThrows[StateNotFound](fixture.open().load(1, Some(ref.uid), interval = true, covered = Some(0)))
      assert(System.nanoTime() - begun > TimeUnit.SECONDS.toNanos(1))
    }
  }

  for (
    (what, harm, missing) <- Seq[(String, Array[Byte] => Array[Byte], Boolean)](
      ("its header", _.take(10), true),
      ("a part", bytes => bytes.take(bytes.length / 2), true),
      ("all of it, and not as it was", flipped, false)
    )
  ) test(s"a changelog of which an executor that is gone has copied $what is missing: $missing") {
    withStore { fixture =>
      val gone = fixture.open()
      val (base, outcome) = checkpoint(gone, 0, "checked")
      assert(outcome.await().isRight)
      val ref = batch(gone, 1, "a")
      val bytes = java.nio.file.Files.readAllBytes(new java.io.File(fixture.nearFolder(0), ref.changelogName).toPath)
      fixture.stored.write(ref.changelogName, harm(bytes))
      def load(uid: Option[String]): Unit =
        fixture.open().load(2, uid, interval = true, base = Some(base), covered = Some(1))
      Seq(Some(ref.uid), None).foreach { uid =>
        if (missing) assertThrows[StateNotFound](load(uid)) else assertThrows[CheckpointDamaged](load(uid))
      }
      // A version that was in storage when its batch ended has lost what it had.
      assertThrows[CheckpointDamaged](fixture.open().load(2, Some(ref.uid)))
    }
  }

  for (isBase <- Seq(true, false))
    test(s"a handle that ends half-way is damage if the run goes on from it, and else as good as none: $isBase") {
      withStore { fixture =>
        val gone = fixture.open()
        batch(gone, 0, "a"): Unit
        val (ref, outcome) = checkpoint(gone, 1, "checked")
        assert(outcome.await().isRight)
        val bytes = fixture.stored.bytes(ref.handleName)
        fixture.stored.write(ref.handleName, bytes.take(bytes.length / 2))
        def load(): Unit =
          fixture.open().load(2, Some(ref.uid), interval = true, base = Some(ref).filter(_ => isBase))
        if (isBase) assertThrows[CheckpointDamaged](load()) else assertThrows[StateNotFound](load())
      }
    }

  test("a state that is closed has copied its changelogs") {
    withStore { fixture =>
      val state = fixture.open()
      val refs = (0L until 20L).map { version =>
        state.load(version, None, interval = true, covered = Some(0))
        put(state, "k", s"v$version")
        state.commit()
      }
      state.close()
      assert(fixture.fileNames.toSet == refs.map(_.changelogName).toSet)
    }
  }

  private def afterCheckpoint(settings: StateSettings =
    StateSettings())(body: (StoreFixture, VersionedState) => Unit): Unit = {
    val fixture = new StoreFixture(settings, storageOf = FaultyFileSystem.over, backend = backend)
    try {
      val state = fixture.open()
      (0 until 3).foreach(version => batch(state, version, s"v$version"))
      val (_, outcome) = checkpoint(state, 3, "checked")
      assert(outcome.await().isRight)
      batch(state, 4, "later")
      // What is held goes, so that the next load has to read.
      state.load(5, None, interval = true)
      put(state, "k", "never")
      state.abort()
      body(fixture, state)
    } finally fixture.close()
  }

  private def sound(state: VersionedState): Unit = {
    state.load(5, None, interval = true)
    assert(get(state, "k").contains("later") && get(state, "k2").contains("v2") && get(state, "k4").contains("later"))
  }

  test("the executor's own copy is loaded, and storage is not read") {
    afterCheckpoint() { (_, state) =>
      val plan = FaultPlan.none
      FaultyFileSystem.run(plan)(sound(state))
      assert(plan.operations.forall(_.startsWith("list ")), plan.operations)
    }
  }

  for (
    (what, harm) <- Seq[(String, java.io.File => Unit)](
      "a damaged table file" -> (near => flip(new java.io.File(near, "sst").listFiles().head)),
      "a damaged handle" -> (near => flip(near.listFiles().find(_.getName.endsWith(".handle")).get)),
      "a missing table file" -> (near => new java.io.File(near, "sst").listFiles().foreach(_.delete()))
    )
  ) {
    test(s"storage stands in for the executor's own copy: $what") {
      afterCheckpoint() { (fixture, state) =>
        harm(fixture.nearFolder(0))
        sound(state)
      }
    }
  }

  test("without local backup there is no copy") {
    afterCheckpoint(StateSettings(localBackup = false)) { (fixture, state) =>
      assert(near(fixture).forall(_.endsWith(".changelog")))
      sound(state)
    }
  }

  private def flip(file: java.io.File): Unit =
    java.nio.file.Files.write(file.toPath, flipped(java.nio.file.Files.readAllBytes(file.toPath))): Unit

  private def flipped(bytes: Array[Byte]): Array[Byte] = {
    val half = bytes.length / 2
    bytes.updated(half, (bytes(half) ^ 1).toByte)
  }
}

class IntervalDurabilitySpec extends IntervalDurabilityOn(TestBackend.RocksDb)

class IntervalDurabilityOnHashMapSpec extends IntervalDurabilityOn(TestBackend.HashMap)

class IntervalDurabilityOnNestedHashMapSpec extends IntervalDurabilityOn(TestBackend.NestedHashMap)
