package io.snapline.snapshot.store

import java.io.File
import java.util.Arrays

import scala.collection.immutable.TreeMap
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.IncompatibleState
import io.snapline.state.{ColumnFamily, FamilyDescriptor, StoreBuilder}
import io.snapline.state.heap.{HeapSettings, HeapStoreBuilder}
import io.snapline.state.rocksdb.{RocksDbSettings, RocksDbStoreBuilder}

/** Stores put together of random runs of rows are loaded, changed and snapshotted like any other. */
abstract class StoreAssemblyOn(backend: TestBackend) extends AnyFunSuite {
  private type Rows = TreeMap[Seq[Byte], Array[Byte]]
  private val order = Ordering.fromLessThan[Seq[Byte]]((a, b) => Arrays.compareUnsigned(a.toArray, b.toArray) < 0)

  private def builder(folder: File): StoreBuilder = backend match {
    case TestBackend.RocksDb => new RocksDbStoreBuilder(folder, RocksDbSettings(), TestBackend.memory)
    case _ => new HeapStoreBuilder(folder, HeapSettings())
  }

  private def withStore(inline: Int)(body: (StoreFixture, StoreAssembly, StateSettings) => Unit): Unit = {
    val settings = StateSettings(inlineThreshold = inline, policy = SnapshotPolicy(minChangelogs = 2))
    val fixture = new StoreFixture(settings, backend = backend)
    try {
      val assembly = new StoreAssembly(builder(fixture.factory.newFolder()))
      try body(fixture, assembly, settings)
      finally assembly.close()
      fixture.closeStores()
      assert(fixture.localFolders.isEmpty)
    } finally fixture.close()
  }

  private def rows(family: ColumnFamily): Seq[(Seq[Byte], Seq[Byte])] = {
    val cursor = family.iterate()
    val found = Seq.newBuilder[(Seq[Byte], Seq[Byte])]
    while (cursor.next()) found += cursor.key.toSeq -> cursor.value.toSeq
    found.result()
  }

  private def random(random: Random): Rows = TreeMap.from((0 until random.nextInt(300)).map { _ =>
    random.nextBytes(1 + random.nextInt(6)).toSeq -> random.nextBytes(random.nextInt(50))
  })(order)

  for (inline <- Seq(0, 1 << 20))
    test(s"holds what was put, and goes on as a store: in the handle up to $inline bytes") {
      val draw = new Random(inline + 1)
      (0 until 6).foreach { round =>
        withStore(inline) { (fixture, assembly, settings) =>
          val families = Seq("a", "b", "none").zipWithIndex.map { case (name, i) =>
            FamilyDescriptor(40 - i, name, keyGroups = false, multi = name == "b", internal = false)
          }
          val content = families.map(family =>
            family.name -> (if (family.name == "none") random(new Random(0)).empty else random(draw))
          )
          // Each run has a part of the keys, in order; more of them than RocksDB leaves as they are.
          val runs = 1 + draw.nextInt(9)
          (0 until runs).foreach { run =>
            families.zip(content).foreach { case (family, (_, all)) =>
              assembly.begin(family)
              all.iterator.filter { case (key, _) => Math.floorMod(key.hashCode, runs) == run }
                .foreach { case (key, value) => assembly.put(key.toArray, value) }
            }
          }
          val ref = assembly.write(fixture.storage, 12, StoreFixture.origin, settings)
          val state = fixture.open()
          state.load(12, Some(ref.uid))
          def check(): Unit = content.foreach { case (name, all) =>
            val family = state.backend.family(name)
            assert(family.keyCount == all.size)
            assert(rows(family) == all.toSeq.map { case (key, value) => key -> value.toSeq })
            all.foreach { case (key, value) => assert(Arrays.equals(family.get(key.toArray), value)) }
          }
          check()
          assert(state.backend.families.map(_.descriptor.id) == Seq(0, 1, 2))
          // Changelogs and snapshots stand on it.
          (12 until 15).foreach { version =>
            state.load(version.toLong, None)
            state.backend.family("a").put(Array[Byte](99, 98, 97, 96, 95, 94, 93), Array(version.toByte))
            state.commit(forceSnapshot = version == 13)
          }
          val again = fixture.open()
          again.load(15, None)
          assert(again.backend.family("a").get(Array[Byte](99, 98, 97, 96, 95, 94, 93)).toSeq == Seq[Byte](14))
          assert(again.backend.family("a").keyCount == content.head._2.size + 1)
          assert(rows(again.backend.family("b")).size == content(1)._2.size)
        }
      }
    }

  test("an empty store is a version, too") {
    withStore(0) { (fixture, assembly, settings) =>
      assembly.write(fixture.storage, 3, StoreFixture.origin, settings)
      val state = fixture.open()
      state.load(3, None)
      assert(state.backend.families.isEmpty)
    }
  }

  test("a family that is kept in two ways is refused") {
    withStore(0) { (_, assembly, _) =>
      assembly.begin(FamilyDescriptor(0, "a", keyGroups = true, multi = false, internal = false))
      intercept[IncompatibleState](
        assembly.begin(FamilyDescriptor(5, "a", keyGroups = false, multi = false, internal = false))
      )
    }
  }
}

class StoreAssemblySpec extends StoreAssemblyOn(TestBackend.RocksDb)
class HashMapStoreAssemblySpec extends StoreAssemblyOn(TestBackend.HashMap)
