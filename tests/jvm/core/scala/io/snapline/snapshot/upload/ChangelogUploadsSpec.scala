package io.snapline.snapshot.upload

import java.util.concurrent.{CountDownLatch, TimeUnit}

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.snapshot.format.{UidClock, VersionRef}
import io.snapline.storage.{MemoryStorage, WatchedStorage}

class ChangelogUploadsSpec extends AnyFunSuite {
  private val clock = new UidClock

  private final class Executor(hold: String => Unit = _ => ()) {
    val near = new MemoryStorage
    val storage = new MemoryStorage
    val uploads = new ChangelogUploads(near, new WatchedStorage(storage, created = hold), new SnapshotPool(1))
    private var made = 0L

    def commit(): VersionRef = commitAs(made + 1)

    def commitAs(version: Long): VersionRef = {
      made = version
      val ref = VersionRef(version, clock.next())
      near.files(ref.changelogName) = s"changes of $ref".getBytes
      uploads.add(ref)
      ref
    }

    /** The versions in storage, when there is nothing more to do. */
    def stored: Seq[Long] = {
      uploads.await(30000)
      storage.files.keys.toSeq.flatMap(VersionRef.parse).map(_._1.version).sorted
    }
  }

  test("each changelog comes to storage as it is, attempts too, and goes when a checkpoint has it") {
    val executor = new Executor
    val first = executor.commit()
    val attempt = executor.commitAs(first.version)
    executor.commit()
    assert(executor.stored == Seq(1, 1, 2))
    assert(Seq(first, attempt).forall(ref =>
      new String(executor.storage.files(ref.changelogName)) == s"changes of $ref"
    ))
    executor.uploads.cover(1)
    assert(executor.stored == Seq(2))
    executor.commit()
    assert(executor.stored == Seq(2, 3))
    executor.uploads.cover(3)
    assert(executor.stored.isEmpty)
  }

  test("one that a checkpoint has by then is not copied") {
    val gate = new CountDownLatch(1)
    val executor = new Executor(name => if (name.startsWith("1_")) assert(gate.await(30, TimeUnit.SECONDS)))
    (0 until 4).foreach(_ => executor.commit())
    executor.uploads.cover(3)
    gate.countDown()
    assert(executor.stored == Seq(4))
  }

  test("a refusal of storage holds up what follows, and the next commit tries again") {
    val executor = new Executor
    executor.commit()
    assert(executor.stored == Seq(1))
    executor.storage.failWriteTo = Some(".changelog")
    executor.commit()
    assert(executor.stored == Seq(1))
    executor.commit()
    assert(executor.stored == Seq(1, 2, 3))
    assert(executor.storage.open == 0)
  }

  test("what a refused copy has left does not stand in the way of the next try") {
    val executor = new Executor
    executor.storage.failWriteTo = Some(".changelog")
    executor.storage.keepAbandoned = true
    val first = executor.commit()
    assert(executor.stored == Seq(1) && executor.storage.files(first.changelogName).isEmpty)
    executor.commit()
    assert(executor.stored == Seq(1, 2))
    assert(new String(executor.storage.files(first.changelogName)) == s"changes of $first")
  }

  test("none follows one that is gone, until a checkpoint has that one") {
    val gate = new CountDownLatch(1)
    val executor = new Executor(name => if (name.startsWith("1_")) assert(gate.await(30, TimeUnit.SECONDS)))
    executor.commit()
    val gone = executor.commit()
    executor.commit()
    executor.near.delete(gone.changelogName): Unit
    gate.countDown()
    assert(executor.stored == Seq(1))
    executor.commit()
    assert(executor.stored == Seq(1))
    executor.uploads.cover(2)
    assert(executor.stored == Seq(3, 4))
  }

  test("whatever happens, the newest one in storage has all before it there, from the checkpoint on") {
    val seeds = sys.props.get("snapline.test.seeds").fold(Seq(1L, 2L, 3L))(_.split(',').toSeq.map(_.toLong))
    seeds.foreach { seed =>
      val random = new Random(seed)
      val executor = new Executor
      var covered = 0L
      var version = 0L
      (0 until 400).foreach { _ =>
        random.nextInt(8) match {
          case 0 =>
            covered += random.nextInt((version - covered).toInt + 1)
            executor.uploads.cover(covered)
          case 1 => executor.storage.failWriteTo = Some(".changelog")
          case 2 if random.nextInt(4) == 0 => executor.near.files.keys.foreach(executor.near.delete(_): Unit)
          case _ =>
            if (version == covered || random.nextInt(4) > 0) version += 1
            executor.commitAs(version): Unit
        }
        if (random.nextInt(5) == 0) {
          val stored = executor.stored.distinct
          assert(stored == (covered + 1 to stored.lastOption.getOrElse(covered)), s"seed $seed")
        }
      }
    }
  }
}
