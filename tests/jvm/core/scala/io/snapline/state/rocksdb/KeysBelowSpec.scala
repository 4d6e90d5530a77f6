package io.snapline.state.rocksdb

import java.io.File
import java.nio.file.Files
import java.util.concurrent.atomic.AtomicBoolean

import scala.collection.mutable
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.state.rowtable.{PageMemory, RowTable}
import io.snapline.state.timeindex.IndexMemory
import io.snapline.state.{ChangeSink, FamilyDescriptor, LocalFolder, RowCursor}

/** The table and the filter together know each key: RocksDB is not asked for others. */
class KeysBelowSpec extends AnyFunSuite {
  private val memory = new RocksDbMemory(16L << 20)
  private val nowhere: ChangeSink = (_, _, _, _) => ()
  private val descriptor = FamilyDescriptor(0, "default", keyGroups = false, multi = false, internal = false)

  private def key(i: Int): Array[Byte] = f"key$i%06d".getBytes

  private def value(i: Int, length: Int = 100): Array[Byte] = Array.fill(length)(i.toByte)

  /** @param rows
    *   of the snapshot, by the numbers of their keys
    */
  private def restored(rows: Map[Int, Array[Byte]], limit: Long = 16L << 20)(
      body: (RocksDbBackend, RocksDbFamily) => Unit
  ): Unit = {
    val root = Files.createTempDirectory("snapline-below").toFile
    try {
      val first = new RocksDbBackend(new File(root, "db"), false, RocksDbSettings(), memory, new PageMemory(16L << 20))
      first.beginChanges(nowhere)
      val family = first.createFamily("default", keyGroups = false, multi = false, internal = false)
      rows.foreach { case (i, bytes) => family.put(key(i), bytes) }
      first.cutChanges()
      val local = first.snapshot().materialize()
      first.close()
      val backend = new RocksDbBackend(local.folder, true, RocksDbSettings(), memory, new PageMemory(limit))
      try {
        backend.restoreFamilies(Seq(descriptor -> rows.size.toLong))
        body(backend, backend.family("default").asInstanceOf[RocksDbFamily])
      } finally backend.close()
    } finally LocalFolder.delete(root)
  }

  private def batch(backend: RocksDbBackend)(body: => Unit): Unit = {
    backend.beginChanges(nowhere)
    body
    backend.cutChanges()
  }

  /** Keys that are nowhere, each once. */
  private def miss(family: RocksDbFamily, batch: Int, count: Int): Unit = (0 until count).foreach(i =>
    assert(family.get(s"none $batch $i".getBytes) == null)
  )

  private def rowsOf(cursor: RowCursor): Map[String, Seq[Byte]] = {
    val found = mutable.Map.empty[String, Seq[Byte]]
    while (cursor.next()) found(new String(cursor.key)) = cursor.value.toSeq
    found.toMap
  }

  test("as many rows come up as looks below have found nothing for, and then nothing is looked for below") {
    val rows = (0 until 1000).map(i => i -> value(i)).toMap
    restored(rows) { (backend, family) =>
      batch(backend)(miss(family, 0, 100))
      batch(backend)(miss(family, 1, 100))
      assert(!family.isAllAbove)
      batch(backend)(miss(family, 2, 100))
      batch(backend)(())
      assert(family.isAllAbove)
      val (gets, hits) = (backend.gets, backend.hits)
      miss(family, 3, 100)
      rows.foreach { case (i, bytes) => assert(family.get(key(i)).sameElements(bytes)) }
      assert(backend.gets - gets == backend.hits - hits)
    }
  }

  test("a batch without a look that found nothing brings nothing up") {
    restored((0 until 10).map(i => i -> value(i)).toMap) { (backend, family) =>
      (0 until 5).foreach(_ => batch(backend)((0 until 10).foreach(i => assert(family.get(key(i)) != null))))
      assert(!family.isAllAbove)
    }
  }

  /** @param limit
    *   memory of the table
    */
  private def randomRun(seed: Int, limit: Long): Unit = {
    val random = new Random(seed)
    val model = mutable.Map.from((0 until 2000).map(i => random.nextInt(5000) -> value(i)))
    restored(model.toMap, limit) { (backend, family) =>
      var round = 0
      while (!asksNothing(backend, family, round) && round < 200) {
        batch(backend) {
          miss(family, round, 10 + random.nextInt(10))
          (0 until 30).foreach { _ =>
            val i = random.nextInt(5000)
            random.nextInt(4) match {
              case 0 =>
                family.delete(key(i)): Unit
                model.remove(i): Unit
              case 1 => assert((family.get(key(i)) == null) == !model.contains(i))
              case _ =>
                model(i) = value(round, random.nextInt(50))
                family.put(key(i), model(i))
            }
          }
          if (random.nextInt(10) == 0) {
            val from = random.nextInt(5000)
            family.deleteRange(key(from), key(from + 50))
            (from until from + 50).foreach(model.remove)
          }
        }
        if (random.nextInt(5) == 0) LocalFolder.delete(backend.snapshot().materialize().folder)
        round += 1
      }
      assert(round < 200)
      (0 until 5000).foreach { i =>
        assert(Option(family.get(key(i))).map(_.toSeq) == model.get(i).map(_.toSeq))
      }
      assert(family.keyCount == model.size)
      batch(backend)(model.keys.take(100).toSeq.foreach { i =>
        family.delete(key(i)): Unit
        model.remove(i): Unit
      })
      val (found, there) = family.multiGet((0 until 5000).map(key).toArray).toSeq -> (0 until 5000).map(model.get)
      assert(found.map(Option(_).map(_.toSeq)) == there.map(_.map(_.toSeq)))
      assert(rowsOf(family.iterate()) == model.map { case (i, bytes) => new String(key(i)) -> bytes.toSeq }.toMap)
    }
  }

  /** Of a hundred keys that are nowhere a few may pass for some that are below. */
  private def asksNothing(backend: RocksDbBackend, family: RocksDbFamily, round: Int): Boolean = {
    val asked = backend.gets - backend.hits
    miss(family, -1 - round, 100)
    backend.gets - backend.hits - asked < 10
  }

  for (seed <- 1 to 20) test(s"rows that change meanwhile are as they should be, seed $seed") {
    randomRun(seed, limit = 16L << 20)
  }

  for (seed <- 1 to 20) test(s"so are they where memory does not do for all of them, seed $seed") {
    randomRun(seed, limit = 0)
  }

  test("a row that was deleted stays so where a snapshot applies the changes while rows come up") {
    val rows = (0 until 150000).map(i => i -> value(i)).toMap
    val gone = 120000 until 150000
    restored(rows, limit = 256L << 20) { (backend, family) =>
      batch(backend) {
        miss(family, 0, rows.size / 3)
        gone.foreach(i => assert(family.delete(key(i))))
      }
      val snapshot = backend.snapshot()
      val before = backend.table.usedBytes
      val walked = new AtomicBoolean
      // The pages of the deletions go in the midst of the walk then, for it takes pages itself.
      val other = new Thread(() => {
        while (backend.table.usedBytes == before && !walked.get) Thread.sleep(1)
        LocalFolder.delete(snapshot.materialize().folder)
      })
      other.start()
      batch(backend)(())
      walked.set(true)
      other.join()
      (1 to 2).foreach(n => batch(backend)(miss(family, n, rows.size / 3)))
      batch(backend)(())
      assert(family.isAllAbove)
      assert(gone.forall(i => family.get(key(i)) == null))
      assert(rowsOf(family.iterate()).size == rows.size - gone.size)
    }
  }

  test("where memory does not do for all rows they stay below, and their keys are known") {
    val rows = (0 until 30000).map(i => i -> value(i)).toMap
    restored(rows, limit = 0) { (backend, family) =>
      assert(!asksNothing(backend, family, 0))
      (0 until 4).foreach(n => batch(backend)(miss(family, n, 3000)))
      assert(!family.isAllAbove)
      assert(asksNothing(backend, family, 1))
      assert(backend.metrics.tableBytes < (2L << 20))
      assert(rowsOf(family.iterate()).size == rows.size)
      assert(rows.forall { case (i, bytes) => family.get(key(i)).sameElements(bytes) })
    }
  }

  test("a row that the table does not keep stays below alone") {
    restored(Map(1 -> value(1), 2 -> value(2, RowTable.LargestKept), 3 -> value(3))) { (backend, family) =>
      (0 until 3).foreach(n => batch(backend)(miss(family, n, 10)))
      assert(!family.isAllAbove)
      assert(asksNothing(backend, family, 0))
      assert((1 to 3).forall(i => family.get(key(i)) != null))
    }
  }

  test("a state that outgrows the table asks RocksDB for no new key") {
    val root = Files.createTempDirectory("snapline-below").toFile
    val backend = new RocksDbBackend(new File(root, "db"), false, RocksDbSettings(), memory, new PageMemory(1L << 20))
    try {
      backend.beginChanges(nowhere)
      val family =
        backend.createFamily("default", keyGroups = false, multi = false, internal = false).asInstanceOf[RocksDbFamily]
      (0 until 50000).foreach(i => family.put(key(i), value(i)))
      backend.cutChanges()
      assert(!family.isAllAbove)
      assert(asksNothing(backend, family, 0))
      assert(family.keyCount == 50000)
      assert((0 until 50000).forall(i => family.get(key(i)).sameElements(value(i))))
      assert(backend.metrics.indexBytes > 50000)
    } finally {
      backend.close()
      LocalFolder.delete(root)
    }
  }

  test("a key that was deleted without a mark stays deleted when the first row goes, with no memory for a filter") {
    val root = Files.createTempDirectory("snapline-below").toFile
    val pages = new PageMemory(16L << 20)
    val backend = new RocksDbBackend(new File(root, "db"), false, RocksDbSettings(), memory, pages, new IndexMemory(0))
    try {
      backend.beginChanges(nowhere)
      val family =
        backend.createFamily("default", keyGroups = false, multi = false, internal = false).asInstanceOf[RocksDbFamily]
      (0 until 20000).foreach(i => family.put(key(i), value(i)))
      LocalFolder.delete(backend.snapshot().materialize().folder)
      // More than is applied at once lies between the rows that go first and the deletions.
      var next = 20000
      def put(): Unit = { family.put(key(next), value(next, 1000)); next += 1 }
      (0 until 10000).foreach(_ => put())
      var deleted = 0
      while (family.isAllAbove) {
        family.delete(key(deleted)): Unit
        deleted += 1
        put()
      }
      backend.cutChanges()
      assert(deleted > 1000)
      assert((0 until deleted).forall(i => family.get(key(i)) == null))
      assert((deleted until next).forall(i => family.get(key(i)) != null))
      assert(family.keyCount == next - deleted)
    } finally {
      backend.close()
      LocalFolder.delete(root)
    }
  }

  for (seed <- 1 to 10) test(s"keys that have gone leave room for others, seed $seed") {
    val random = new Random(seed)
    val root = Files.createTempDirectory("snapline-below").toFile
    val filters = new IndexMemory(12L << 10)
    val backend = new RocksDbBackend(new File(root, "db"), false, RocksDbSettings(), memory, new PageMemory(0), filters)
    val model = mutable.Map.empty[Int, Array[Byte]]
    try {
      val family =
        backend.createFamily("default", keyGroups = false, multi = false, internal = false).asInstanceOf[RocksDbFamily]
      var next = 0
      (0 until 60).foreach { round =>
        batch(backend) {
          (0 until 500).foreach { _ =>
            model(next) = value(round, 1000)
            family.put(key(next), model(next))
            next += 1
          }
          model.keys.toSeq.sorted.take(if (round < 4) 0 else 500).foreach { i =>
            if (random.nextInt(20) > 0) {
              family.delete(key(i)): Unit
              model.remove(i): Unit
            }
          }
          miss(family, round, 20)
          (0 until 50).foreach { _ =>
            val i = random.nextInt(next)
            assert(Option(family.get(key(i))).map(_.toSeq) == model.get(i).map(_.toSeq))
          }
        }
        assert(filters.used <= (12L << 10))
      }
      (0 until 50).foreach(n => batch(backend)(miss(family, 100 + n, 100)))
      assert(asksNothing(backend, family, 0))
      assert((0 until next).forall(i => (family.get(key(i)) != null) == model.contains(i)))
      assert(family.keyCount == model.size)
    } finally {
      backend.close()
      LocalFolder.delete(root)
    }
    assert(filters.used == 0)
  }
}
