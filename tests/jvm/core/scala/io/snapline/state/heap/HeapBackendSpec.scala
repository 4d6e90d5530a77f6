package io.snapline.state.heap

import java.io.File
import java.nio.file.Files

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.{CheckpointDamaged, StorageFailure}
import io.snapline.state._

/** Snapshots of a backend that goes on, in whatever order they are written, and what it gives back. */
class HeapBackendSpec extends AnyFunSuite {
  private val nowhere: ChangeSink = (_, _, _, _) => ()
  private val chains = HeapSettings(imageAfter = 5, smallImage = 0)
  private val kinds = Seq("copy-on-write" -> chains, "nested" -> chains.copy(asyncSnapshots = false))

  private final class Place(settings: HeapSettings) {
    val root: File = Files.createTempDirectory("snapline-heap").toFile
    val memory = new HeapMemory(0)
    private var opened = 0

    def open(): HeapBackend = {
      opened += 1
      val backend = new HeapBackend(new File(root, s"db-$opened"), false, settings, memory)
      backend.beginChanges(nowhere)
      backend
    }

    /** The rows a snapshot holds. */
    def load(local: LocalSnapshot, families: Seq[(FamilyDescriptor, Long)]): Map[String, String] = {
      val backend = new HeapBackend(local.folder, true, settings, memory)
      try {
        backend.restoreFamilies(families)
        rows(backend)
      } finally backend.close()
    }
  }

  private def withPlace(settings: HeapSettings)(body: Place => Unit): Unit = {
    val place = new Place(settings)
    try {
      body(place)
      assert(place.memory.used == 0)
      assert(place.root.list().isEmpty, place.root.list().mkString(", "))
    } finally LocalFolder.delete(place.root)
  }

  private def rows(backend: HeapBackend): Map[String, String] = backend.families.flatMap { family =>
    val cursor = family.iterate()
    Iterator.continually(cursor).takeWhile(_.next())
      .map(c => s"${family.descriptor.name} ${new String(c.key)}" -> new String(c.value)).toSeq
  }.toMap

  private def families(backend: HeapBackend): Seq[(FamilyDescriptor, Long)] =
    backend.families.map(f => f.descriptor -> f.keyCount)

  private def family(backend: HeapBackend, name: String): ColumnFamily =
    backend.createFamily(name, keyGroups = false, multi = false, internal = false)

  private def change(backend: HeapBackend, random: Random): Unit = (0 until 30).foreach { _ =>
    val rows = family(backend, s"f${random.nextInt(3)}")
    val key = s"k${random.nextInt(60)}".getBytes
    random.nextInt(4) match {
      case 0 => rows.delete(key): Unit
      case 1 => rows.merge(key, "+".getBytes)
      case _ => rows.put(key, random.nextInt(1000000).toString.getBytes)
    }
  }

  for ((map, settings) <- kinds; seed <- 1 to 4)
    test(s"snapshots are written in any order, by whoever comes first: $map, seed $seed") {
      withPlace(settings) { place =>
        val random = new Random(seed)
        val backend = place.open()
        var pending = Vector.empty[(PendingSnapshot, Map[String, String], Seq[(FamilyDescriptor, Long)])]
        var images = 0
        (0 until 60).foreach { step =>
          change(backend, random)
          if (step == 30) {
            // Its number is not given again, and its rows must not come back.
            backend.removeFamily("f1")
            family(backend, "f1").put("new".getBytes, "row".getBytes)
          }
          if (random.nextBoolean()) pending :+= ((backend.snapshot(), rows(backend), families(backend)))
          while (pending.size > random.nextInt(5)) {
            val (snapshot, expected, states) = pending(random.nextInt(pending.size))
            val local = snapshot.materialize()
            assert(local.tables.map(_.getName) == local.tables.map(_.getName).sorted)
            images += local.tables.count(_.getName.endsWith("-image"))
            assert(place.load(local, states) == expected)
            pending = pending.filterNot(_._1 eq snapshot)
          }
        }
        assert(images > 1)
        backend.close()
      }
    }

  test("a snapshot after another holds what has changed, and names the files of the other") {
    withPlace(chains) { place =>
      val backend = place.open()
      (0 until 1000).foreach(i => family(backend, "f").put(s"k$i".getBytes, new Array[Byte](100)))
      val first = backend.snapshot().materialize()
      family(backend, "f").put("k7".getBytes, "x".getBytes)
      family(backend, "f").delete("k8".getBytes)
      val second = backend.snapshot().materialize()
      assert(second.tables.head.getName == first.tables.head.getName && second.tables.size == 2)
      assert(second.tables.last.length < 100)
      val states = families(backend)
      backend.close()
      val found = place.load(second, states)
      assert(found.size == 999 && found("f k7") == "x" && !found.contains("f k8"))
      LocalFolder.delete(first.folder)
    }
  }

  test("a restored backend goes on with the chain it was restored from") {
    withPlace(chains) { place =>
      val backend = place.open()
      (0 until 1000).foreach(i => family(backend, "f").put(s"k$i".getBytes, new Array[Byte](100)))
      val first = backend.snapshot().materialize()
      val again = new HeapBackend(first.folder, true, chains, place.memory)
      again.restoreFamilies(families(backend))
      again.beginChanges(nowhere)
      again.family("f").put("k7".getBytes, "x".getBytes)
      val second = again.snapshot().materialize()
      assert(second.tables.map(_.getName) == Seq("0000000001-image", "0000000002-changes"))
      val states = families(again)
      Seq(backend, again).foreach(_.close())
      assert(place.load(second, states)("f k7") == "x")
    }
  }

  test("changes that come to half of the state end in an image, and are not listed any longer") {
    withPlace(HeapSettings()) { place =>
      val backend = place.open()
      def fill(from: Int): Unit = (0 until 20000).foreach(i =>
        family(backend, "f").put(s"k${from + i}".getBytes, new Array[Byte](100))
      )
      fill(0)
      LocalFolder.delete(backend.snapshot().materialize().folder)
      val before = backend.metrics.tableBytes
      // Timers come and go: nothing of them is left, and nothing is kept of it.
      (0 until 20).foreach { round =>
        (0 until 20000).foreach(i => family(backend, "f").put(s"t$round-$i".getBytes, new Array[Byte](50)))
        (0 until 20000).foreach(i => family(backend, "f").delete(s"t$round-$i".getBytes))
      }
      assert(backend.metrics.tableBytes < before * 2)
      val local = backend.snapshot().materialize()
      assert(local.tables.map(_.getName) == Seq("0000000002-image"))
      LocalFolder.delete(local.folder)
      backend.close()
    }
  }

  for ((map, settings) <- kinds)
    test(s"a disk that cannot be written fails the snapshot, and the next one is whole: $map") {
      withPlace(settings) { place =>
        val backend = place.open()
        change(backend, new Random(1))
        // A file stands where the backend's folder would be made.
        val blocked = new File(place.root, "db-1")
        Files.write(blocked.toPath, Array[Byte](1))
        val failing = backend.snapshot()
        change(backend, new Random(2))
        val onIt = backend.snapshot()
        Seq(failing, onIt).foreach(pending => intercept[StorageFailure](pending.materialize()))
        blocked.delete()
        change(backend, new Random(3))
        val pending = backend.snapshot()
        val (expected, states) = (rows(backend), families(backend))
        change(backend, new Random(4))
        assert(place.load(pending.materialize(), states) == expected)
        backend.close()
      }
    }

  for ((map, settings) <- kinds) test(s"what nobody wants any more is given back: $map") {
    withPlace(settings) { place =>
      val backend = place.open()
      change(backend, new Random(1))
      val discarded = backend.snapshot()
      discarded.discard()
      intercept[StorageFailure](discarded.materialize())
      change(backend, new Random(2))
      val unclaimed = Seq.fill(2)(backend.snapshot())
      val taken = backend.snapshot().materialize()
      backend.close()
      backend.close()
      unclaimed.foreach(pending => intercept[StorageFailure](pending.materialize()))
      assert(taken.tables.forall(_.isFile), "what was handed over belongs to its taker")
      LocalFolder.delete(taken.folder)
    }
  }

  test("a chain that does not hold what the handle says is damaged") {
    withPlace(chains) { place =>
      val backend = place.open()
      change(backend, new Random(1))
      def snapshot(): LocalSnapshot = { backend.removeFamily("f9"); backend.snapshot().materialize() }
      val states = families(backend)
      val more = states.head.copy(_2 = states.head._2 + 1) +: states.tail
      Seq(more, states.tail).foreach(wrong => intercept[CheckpointDamaged](place.load(snapshot(), wrong)))
      backend.close()
    }
  }

  for ((map, settings) <- kinds) test(s"a scan shows its moment, whatever is changed while it runs: $map") {
    withPlace(settings) { place =>
      val backend = place.open()
      val rows = family(backend, "f")
      (0 until 500).foreach(i => rows.put(f"key$i%05d".getBytes, new Array[Byte](100)))
      val cursor = rows.iterate()
      val forgotten = rows.rangeScan("key00100".getBytes, null)
      assert(cursor.next() && forgotten.next())
      // In place, larger, gone, new, a range, and the same again.
      (0 until 2).foreach { n =>
        rows.put("key00001".getBytes, Array.fill(100)(n.toByte))
        rows.put("key00003".getBytes, new Array[Byte](300))
        rows.delete("key00002".getBytes)
        rows.put("key99999".getBytes, new Array[Byte](7))
        rows.deleteRange("key00010".getBytes, "key00020".getBytes)
      }
      var seen = 1
      while (cursor.next()) { seen += 1; assert(cursor.value.toSeq == Seq.fill[Byte](100)(0)) }
      assert(seen == 500)
      val after = rows.iterate()
      assert(Iterator.continually(after).takeWhile(_.next()).size == 490 && rows.keyCount == 490)
      assert(rows.get("key00001".getBytes).forall(_ == 1))
      backend.close()
    }
  }
}
