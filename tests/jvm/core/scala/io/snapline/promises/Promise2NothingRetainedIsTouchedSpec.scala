package io.snapline.promises

import java.util.Arrays

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.snapshot.format.VersionRef
import io.snapline.snapshot.store._

/** No file a retained checkpoint names is overwritten or deleted.
  *
  * Random lives: commits, rollbacks, second attempts, processes that come and go, and clean-up all the time. After each
  * clean-up every kept version of the line loads, all of its files are there, and no file has other bytes than at first
  * sight.
  */
abstract class Promise2NothingRetainedIsTouchedOn(backend: TestBackend, where: TestStorage = TestStorage.OnDisk)
    extends AnyFunSuite {

  for (seed <- 1 to 6; maxDeletes = if (seed % 3 == 0) 2 else -1)
    test(s"a random life, seed $seed, at most $maxDeletes versions at once") {
      val retain = 2 + seed % 3
      val settings = StateSettings(
        retain = retain,
        minStale = seed % 2L,
        maxDeletes = maxDeletes,
        policy = SnapshotPolicy(minChangelogs = 1 + seed % 3)
      )
      val fixture = new StoreFixture(settings, backend = backend, where = where)
      try new Life(fixture, retain, new Random(seed)).run(45)
      finally fixture.close()
    }

  private final class Life(fixture: StoreFixture, retain: Int, random: Random) {
    private var line = Vector.empty[(VersionRef, Map[String, String])]
    private var state = fixture.open()
    private var seen = Map.empty[String, Int]
    private var deleted = 0

    /** The oldest version that clean-up has had to keep at any time. */
    private var oldest = 1L

    private def newest: Long = line.lastOption.fold(0L)(_._1.version)

    def run(steps: Int): Unit = {
      (0 until steps).foreach { step =>
        random.nextInt(10) match {
          case 0 => // another process goes on
            state.awaitSnapshot()
            state.close()
            state = fixture.open()
          case 1 if newest > oldest => // back by a version; the other attempt stays in storage
            line = line.dropRight(1)
          case 2 => // somebody else makes an attempt that does not count
            val other = fixture.open()
            commit(other, force = random.nextBoolean()): Unit
            other.awaitSnapshot()
            other.close()
          case 3 => // an attempt that is aborted half-way
            change(state)
            state.abort()
          case _ => line :+= commit(state, force = random.nextInt(6) == 0)
        }
        // Clean-up may come while a snapshot is uploaded.
        if (random.nextBoolean()) state.awaitSnapshot()
        if (line.nonEmpty) {
          load(state)
          state.cleanUp()
          oldest = math.max(oldest, newest - retain + 1)
          check(step)
        }
      }
      assert(deleted > 10, "there was something to clean up")
      assert(seen.keys.exists(_.endsWith(".sst")))
    }

    private def load(of: VersionedState): Unit =
      of.load(newest, line.lastOption.map(_._1.uid), empty = false)

    private def change(of: VersionedState): Map[String, String] = {
      load(of)
      var rows = line.lastOption.fold(Map.empty[String, String])(_._2)
      val family = of.backend.createFamily("default", keyGroups = false, multi = false, internal = false)
      (0 until 10).foreach { _ =>
        val (key, value) = (s"k${random.nextInt(50)}", random.nextInt().toString)
        family.put(key.getBytes, value.getBytes)
        rows += key -> value
      }
      rows
    }

    private def commit(of: VersionedState, force: Boolean): (VersionRef, Map[String, String]) = {
      val rows = change(of)
      of.commit(force) -> rows
    }

    private def files: Map[String, Int] =
      fixture.stored.names.map(name => name -> Arrays.hashCode(fixture.stored.bytes(name))).toMap

    private def check(step: Int): Unit = {
      state.awaitSnapshot()
      val now = files
      now.foreach { case (name, hash) =>
        seen.get(name).foreach(before => assert(before == hash, s"$name changed in step $step"))
      }
      deleted += seen.keys.count(!now.contains(_))
      seen = seen.filter { case (name, _) => now.contains(name) } ++ now
      assert(new StoreAudit(fixture.plainStorage).broken.isEmpty, s"step $step")
      if (step % 3 == 0) {
        val reader = fixture.open()
        try
          line.filter(_._1.version >= oldest).foreach { case (ref, rows) =>
            reader.load(ref.version, Some(ref.uid))
            val family = reader.backend.family("default")
            assert(family.keyCount == rows.size)
            (0 until 50).foreach { i =>
              assert(Option(family.get(s"k$i".getBytes)).map(new String(_)) == rows.get(s"k$i"), s"$ref in step $step")
            }
          }
        finally reader.close()
      }
    }
  }

  test("a snapshot that is not whole takes no older one with it") {
    val settings = StateSettings(retain = 2, minStale = 0, policy = SnapshotPolicy(minChangelogs = 1000))
    for (damage <- Seq("handle gone", "handle cut short", "table file gone", "table file cut short")) {
      val fixture = new StoreFixture(settings, backend = backend, where = where)
      try {
        val state = fixture.open()
        val refs = (0L until 8L).map { version =>
          state.load(version, None)
          state.backend
            .createFamily("default", keyGroups = false, multi = false, internal = false)
            .put(s"k$version".getBytes, Array[Byte](1))
          state.commit(forceSnapshot = version == 1 || version == 5)
        }
        state.load(8, None)
        val stored = fixture.stored
        val handle = refs(5).handleName
        val table =
          new StoreAudit(fixture.plainStorage).wholeHandles.find(_.ref == refs(5)).get.files.map(_.storedName).max
        damage match {
          case "handle gone" => stored.delete(handle)
          case "handle cut short" => stored.write(handle, stored.bytes(handle).dropRight(1))
          case "table file gone" => stored.delete(table)
          case _ => stored.write(table, stored.bytes(table).dropRight(1))
        }
        val before = stored.names.toSet
        state.cleanUp()
        assert(stored.names.toSet == before, damage)
        val reader = fixture.open()
        Seq(7, 8).foreach { version =>
          reader.load(version.toLong, Some(refs(version - 1).uid))
          assert(reader.backend.family("default").keyCount == version, damage)
          (0 until version).foreach(i => assert(reader.backend.family("default").get(s"k$i".getBytes) != null, damage))
        }
      } finally fixture.close()
    }
  }
}

class Promise2NothingRetainedIsTouchedSpec extends Promise2NothingRetainedIsTouchedOn(TestBackend.RocksDb)

class Promise2NothingRetainedIsTouchedOnHashMapSpec extends Promise2NothingRetainedIsTouchedOn(TestBackend.HashMap)

class Promise2NothingRetainedIsTouchedOnNestedHashMapSpec
    extends Promise2NothingRetainedIsTouchedOn(TestBackend.NestedHashMap)
