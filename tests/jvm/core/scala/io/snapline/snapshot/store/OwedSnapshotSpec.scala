package io.snapline.snapshot.store

import java.util.concurrent.{CountDownLatch, TimeUnit}

import scala.collection.mutable
import scala.util.Random

import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.snapline.error.CheckpointDamaged
import io.snapline.snapshot.format.HandleMeta
import io.snapline.snapshot.merged.StoredHandle
import io.snapline.snapshot.upload.{OwedCheckpoint, SnapshotFigures, SnapshotListener, SnapshotPool}
import io.snapline.storage.{Fault, FaultPlan, FaultyFileSystem}

/** Snapshots that a store makes when there is a thread for them (docs/notes/012-at-least-once.md). */
abstract class OwedSnapshotOn(backend: TestBackend) extends AnyFunSuite with Eventually {
  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(30, Seconds), Span(5, Millis))

  /** A store whose pool has one thread, which can be kept busy; and what was said of its snapshots, by checkpoint. */
  private final class Store(val fixture: StoreFixture, pool: SnapshotPool) {
    val state: VersionedState = fixture.open()
    private val told = mutable.Map.empty[Long, Seq[Either[Exception, HandleMeta]]].withDefaultValue(Nil)
    var version = 0L

    def outcomes(checkpoint: Long): Seq[Either[Exception, HandleMeta]] = synchronized(told(checkpoint))

    def snapshots: Map[Long, HandleMeta] = synchronized(told.view.mapValues(_.flatMap(_.toOption)).collect {
      case (checkpoint, Seq(meta)) => checkpoint -> meta
    }.toMap)

    private def tell(checkpoint: Long, outcome: Either[Exception, HandleMeta]): Unit = synchronized {
      told(checkpoint) = told(checkpoint) :+ outcome
    }

    private def owed(checkpoint: Long): OwedCheckpoint = OwedCheckpoint(
      checkpoint,
      new SnapshotListener {
        override def made(handle: StoredHandle, figures: SnapshotFigures, mayReuse: () => Unit): Unit = {
          mayReuse()
          tell(checkpoint, Right(handle.meta))
        }
        override def failed(reason: Exception): Unit = tell(checkpoint, Left(reason))
      }
    )

    def load(): Unit = state.load(version, None, interval = true)

    def put(key: String, value: String): Unit =
      state.backend.createFamily("default", keyGroups = false, multi = false, internal = false)
        .put(key.getBytes, value.getBytes)

    def commit(checkpoint: Option[Long]): Unit = {
      state.commit(owed = checkpoint.map(owed))
      version += 1
    }

    def batch(checkpoint: Option[Long]): Unit = {
      load()
      put("k", s"v$version")
      commit(checkpoint)
    }

    /** Keeps the pool's only thread until the body has ended. */
    def busy(body: => Unit): Unit = {
      val begun, over = new CountDownLatch(1)
      pool.submit { () => begun.countDown(); over.await(60, TimeUnit.SECONDS): Unit }
      assert(begun.await(60, TimeUnit.SECONDS))
      try body
      finally over.countDown()
    }

    def valueIn(meta: HandleMeta): Map[String, String] = {
      val other = fixture.open()
      try {
        other.load(meta.ref.version, Some(meta.ref.uid))
        (0 until 50).map(i => s"k$i").appended("k").flatMap { key =>
          Option(other.backend.family("default").get(key.getBytes)).map(key -> new String(_))
        }.toMap
      } finally other.close()
    }
  }

  private def withStore(body: Store => Unit): Unit = {
    val pool = new SnapshotPool(1)
    val fixture = new StoreFixture(storageOf = FaultyFileSystem.over, backend = backend, pool = pool)
    try body(new Store(fixture, pool))
    finally fixture.close()
  }

  /** A snapshot of version 3 for the checkpoint of version 1. */
  private def ahead(store: Store): HandleMeta = {
    store.busy((0 until 3).foreach(_ => store.batch(Some(1))))
    eventually(assert(store.snapshots(1).ref.version == 3))
    store.snapshots(1)
  }

  test("with a thread free and no further batch, it is of the barrier's version") {
    withStore { store =>
      store.batch(None)
      store.batch(Some(1))
      eventually(assert(store.snapshots(1).ref.version == 2))
      assert(store.valueIn(store.snapshots(1)) == Map("k" -> "v1"))
    }
  }

  test("while there is no thread batches go on, and one snapshot of a later version answers the newest checkpoint") {
    withStore { store =>
      store.busy {
        store.batch(Some(1))
        store.batch(Some(1))
        store.batch(Some(2))
        store.batch(Some(2))
        assert(store.snapshots.isEmpty)
      }
      eventually(assert(store.snapshots.keySet == Set(2L)))
      assert(store.snapshots(2).ref.version == 4 && store.valueIn(store.snapshots(2)) == Map("k" -> "v3"))
      store.batch(Some(2))
      store.busy(())
      assert(store.outcomes(1).isEmpty && store.outcomes(2).size == 1, "what was answered is not owed any more")
    }
  }

  test("a store in use is not touched: its task makes the snapshot when it commits") {
    withStore { store =>
      store.busy {
        store.batch(Some(1))
        store.load()
        store.put("k", "half")
      }
      // The thread has passed by.
      store.busy(())
      assert(store.snapshots.isEmpty)
      store.put("k", "whole")
      store.commit(Some(1))
      eventually(assert(store.snapshots(1).ref.version == 2))
      assert(store.valueIn(store.snapshots(1)) == Map("k" -> "whole"))
    }
  }

  test("after an abort the batch that is run again owes it") {
    withStore { store =>
      store.busy {
        store.batch(Some(1))
        store.load()
        store.put("k", "never")
        store.state.abort()
      }
      store.busy(())
      store.batch(Some(1))
      eventually(assert(store.snapshots(1).ref.version == 2))
      assert(store.valueIn(store.snapshots(1)) == Map("k" -> "v1"))
    }
  }

  test("a batch that was run a second time owes it again: what the first attempt began may never be acknowledged") {
    withStore { store =>
      store.batch(Some(1))
      eventually(assert(store.outcomes(1).size == 1))
      store.version = 0
      store.batch(Some(1))
      eventually(assert(store.outcomes(1).size == 2))
    }
  }

  test("one that fails is declined, and the next batch owes an older checkpoint still") {
    withStore { store =>
      store.busy {
        store.batch(Some(1))
        store.batch(Some(2))
        FaultyFileSystem.plan.set(new FaultPlan(0, Fault.Before))
      }
      try eventually(assert(store.outcomes(2).exists(_.isLeft)))
      finally FaultyFileSystem.plan.set(FaultPlan.none)
      store.batch(Some(1))
      eventually(assert(store.snapshots(1).ref.version == 3))
    }
  }

  test("nothing is owed to a checkpoint that has come to its end") {
    withStore { store =>
      store.busy {
        store.batch(Some(1))
        store.batch(None)
      }
      store.busy(())
      store.batch(None)
      store.busy(())
      assert(store.snapshots.isEmpty && store.fixture.fileNames.filterNot(_ == "sst").isEmpty)
    }
  }

  test("a store that is closed makes none") {
    withStore { store =>
      store.busy {
        store.batch(Some(1))
        store.state.close()
      }
      store.busy(())
      assert(store.snapshots.isEmpty)
    }
  }

  test("a snapshot of a later version stands for an earlier one, and batches build on it") {
    withStore { store =>
      val snapshot = ahead(store)
      val recovery = store.fixture.open()
      recovery.load(1, None, base = Some(snapshot.ref), ahead = Some(snapshot.ref))
      val stands = recovery.current.get
      assert(stands.version == 1 && stands.uid > snapshot.ref.uid)
      recovery.backend.family("default").put("k1".getBytes, "replayed".getBytes)
      recovery.commit()
      // Durable by itself: whoever comes later goes by version and uid, or by version alone.
      val later = store.fixture.open()
      later.load(2, None)
      assert(new String(later.backend.family("default").get("k".getBytes)) == "v2")
      assert(new String(later.backend.family("default").get("k1".getBytes)) == "replayed")
      val again = store.fixture.open()
      again.load(1, Some(stands.uid))
      assert(store.valueIn(snapshot) == Map("k" -> "v2"), "the snapshot itself is as it was")
    }
  }

  test("damage of a snapshot that stands for an earlier version is told as that version's") {
    withStore { store =>
      val snapshot = ahead(store).ref
      val stored = store.fixture.stored
      val bytes = stored.bytes(snapshot.handleName)
      stored.write(snapshot.handleName, bytes.take(bytes.length / 2))
      val failure = intercept[CheckpointDamaged] {
        store.fixture.open().load(1, None, base = Some(snapshot), ahead = Some(snapshot))
      }
      assert(failure.found.startsWith(s"Version 1 of the state in ${store.fixture.storage.location} is damaged: "))
    }
  }

  test("random batches, aborts, checkpoints and a thread that comes and goes") {
    (1L to 6L).foreach { seed =>
      withStore { store =>
        val random = new Random(seed)
        val models = mutable.Map(0L -> Map.empty[String, String])
        var due = 0L
        val barriers = mutable.Map.empty[Long, Long]

        def step(): Unit = {
          if (random.nextInt(4) == 0) {
            due += 1
            barriers(due) = store.version + 1
          }
          store.load()
          var model = models(store.version)
          (0 to random.nextInt(10)).foreach { _ =>
            val key = s"k${random.nextInt(50)}"
            if (random.nextInt(4) == 0 && model.contains(key)) {
              store.state.backend.family("default").delete(key.getBytes)
              model -= key
            } else {
              store.put(key, s"$seed-${store.version}-${random.nextInt()}")
              model += key -> new String(store.state.backend.family("default").get(key.getBytes))
            }
          }
          if (random.nextInt(8) == 0) store.state.abort()
          else {
            store.commit(Some(due).filter(_ > 0))
            models(store.version) = model
          }
        }

        (0 until 25).foreach { _ =>
          if (random.nextBoolean()) store.busy((0 to random.nextInt(5)).foreach(_ => step())) else step()
        }
        while (due == 0) step()
        eventually {
          if (!store.snapshots.contains(due)) step()
          assert(store.snapshots.contains(due))
        }
        assert(store.snapshots.nonEmpty)
        (1L to due).flatMap(id => store.outcomes(id).map(id -> _)).foreach {
          // Asked for before an abort, of a backend that is gone.
          case (_, Left(_)) => ()
          case (id, Right(meta)) =>
            assert(meta.ref.version >= barriers(id), s"seed $seed, checkpoint $id")
            assert(store.valueIn(meta) == models(meta.ref.version), s"seed $seed, checkpoint $id")
        }
      }
    }
  }
}

class OwedSnapshotSpec extends OwedSnapshotOn(TestBackend.RocksDb)

class OwedSnapshotOnHashMapSpec extends OwedSnapshotOn(TestBackend.HashMap)

class OwedSnapshotOnNestedHashMapSpec extends OwedSnapshotOn(TestBackend.NestedHashMap)
