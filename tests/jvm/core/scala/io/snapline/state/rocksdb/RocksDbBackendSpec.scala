package io.snapline.state.rocksdb

import java.io.File
import java.nio.file.{Files, Paths}

import scala.util.Try

import org.rocksdb.TickerType
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar._

import io.snapline.error.StorageFailure
import io.snapline.state.{ChangeSink, LocalFolder, RowCursor}
import io.snapline.state.rowtable.PageMemory

/** What a backend owns it gives back: native memory, open files, folders. */
class RocksDbBackendSpec extends AnyFunSuite with Eventually {
  override implicit val patienceConfig: PatienceConfig = PatienceConfig(10.seconds, 20.millis)
  private val memory = new RocksDbMemory(16L << 20)
  private val nowhere: ChangeSink = (_, _, _, _) => ()

  private def withRoot(body: File => Unit): Unit = {
    val root = Files.createTempDirectory("snapline-backend").toFile
    try body(root)
    finally LocalFolder.delete(root)
  }

  /** Files of this process below a folder; none where the system does not tell. */
  private def openBelow(root: File): Seq[String] =
    Option(new File("/proc/self/fd").listFiles()).toSeq.flatten
      .flatMap(link => Try(Files.readSymbolicLink(Paths.get(link.getPath)).toString).toOption)
      .filter(_.startsWith(root.getPath))

  private def fill(backend: RocksDbBackend, rows: Int): Unit = {
    backend.beginChanges(nowhere)
    val names = Seq("default", "a", "b")
    names.foreach(backend.createFamily(_, keyGroups = false, multi = false, internal = false))
    for (name <- names; i <- 0 until rows) backend.family(name).put(f"key$i%05d".getBytes, new Array[Byte](100))
    backend.cutChanges()
  }

  test("backends that come and go leave no native memory, no open file and no folder") {
    withRoot { root =>
      val pages = new PageMemory(1L << 20)
      def life(i: Int): Unit = {
        val backend = new RocksDbBackend(new File(root, s"db-$i"), false, RocksDbSettings(), memory, pages)
        fill(backend, 300)
        val cursors = Seq.fill(5)(backend.family("a").iterate())
        // One at its end, one in the middle, others never moved.
        while (cursors.head.next()) ()
        cursors(1).next(): Unit
        val pending = backend.snapshot()
        if (i % 3 == 0) LocalFolder.delete(pending.materialize().folder)
        else if (i % 3 == 1) {
          backend.family("b").iterate().close()
          pending.discard()
        }
        backend.close()
        assert(cursors.forall(!_.next()), "a closed backend's cursors have ended")
        backend.close()
      }
      life(0)
      val before = memory.cache.getUsage
      (1 to 40).foreach(life)
      assert(pages.used == 0)
      assert(openBelow(root).isEmpty)
      assert(root.list().isEmpty, root.list().mkString(", "))
      assert(memory.cache.getPinnedUsage <= (1L << 20) && memory.cache.getUsage <= before + (1L << 20))
    }
  }

  test("a backend that is never read or scanned opens no RocksDB") {
    withRoot { root =>
      val folder = new File(root, "db")
      val backend = new RocksDbBackend(folder, false, RocksDbSettings(), memory, new PageMemory(16L << 20))
      fill(backend, 100)
      assert(backend.family("a").get("key00007".getBytes).length == 100)
      assert(backend.family("a").get("nothing".getBytes) == null)
      assert(!folder.exists())
      backend.close()
      backend.close()
    }
  }

  test("what a snapshot hands over belongs to its taker, whatever becomes of the backend") {
    withRoot { root =>
      val folder = new File(root, "db")
      val backend = new RocksDbBackend(folder, false, RocksDbSettings(), memory, new PageMemory(16L << 20))
      fill(backend, 100)
      val local = backend.snapshot().materialize()
      backend.beginChanges(nowhere)
      (0 until 100).foreach(i => backend.family("a").delete(f"key$i%05d".getBytes))
      backend.family("a").iterate().close()
      backend.close()
      assert(!folder.exists() && local.tables.nonEmpty && (local.tables ++ local.small).forall(_.isFile))
      val again = new RocksDbBackend(local.folder, true, RocksDbSettings(), memory, new PageMemory(16L << 20))
      again.beginChanges(nowhere)
      again.createFamily("a", keyGroups = false, multi = false, internal = false)
      assert(count(again.family("a").iterate()) == 100)
      again.close()
      assert(root.list().isEmpty)
    }
  }

  test("runs of keys that are only added are merged late, and others as soon as there are six") {
    withRoot { root =>
      def runs(rows: Int => Int): Seq[Int] = {
        val backend = new RocksDbBackend(new File(root, "db"), false, RocksDbSettings(), memory, new PageMemory(0))
        val family = backend.createFamily("a", keyGroups = false, multi = false, internal = false)
        val found = for (snapshot <- 0 until 10) yield {
          backend.beginChanges(nowhere)
          for (i <- 0 until 1000) family.put(f"key${rows(1000 * snapshot + i)}%05d".getBytes, new Array[Byte](100))
          backend.cutChanges()
          LocalFolder.delete(backend.snapshot().materialize().folder)
          eventually(assert(backend.open.property("rocksdb.compaction-pending") == 0))
          eventually(assert(backend.open.property("rocksdb.num-running-compactions") == 0))
          backend.open.db.getLiveFilesMetaData.size
        }
        assert(family.keyCount == (0 until 10000).map(rows).toSet.size && count(family.iterate()) == family.keyCount)
        backend.close()
        found
      }
      assert(runs(identity) == (1 to 10))
      assert(runs(_ % 1000).forall(_ < RocksDbOptions.FewRuns))
      // Added first, and written over later.
      val mixed = runs(i => if (i < 3000) i else i % 3000)
      assert(mixed.max < RocksDbOptions.FewRuns)
    }
  }

  test("a look for a key that is not there reads no filter whole, however many keys a table file has") {
    withRoot { root =>
      val small = new RocksDbMemory(512L << 10)
      val backend = new RocksDbBackend(new File(root, "db"), false, RocksDbSettings(), small, new PageMemory(0))
      val family = backend.createFamily("a", keyGroups = false, multi = false, internal = false)
      backend.beginChanges(nowhere)
      val keys = 500000
      def key(i: Int): Array[Byte] = java.nio.ByteBuffer.allocate(8).putInt(i * 0x9e3779b1).putInt(i).array
      (0 until keys).foreach(i => family.put(key(i), Array[Byte](1)))
      backend.cutChanges()
      LocalFolder.delete(backend.snapshot().materialize().folder)
      backend.open.db.compactRange(backend.open.family("a"))
      def filterBytes = backend.open.statistics.getTickerCount(TickerType.BLOCK_CACHE_BYTES_WRITE)
      val before = filterBytes
      val looks = 2000
      (keys until keys + looks).foreach(i => assert(!family.contains(key(i))))
      assert((filterBytes - before) / looks < (32 << 10))
      backend.close()
    }
  }

  test("a shard of the block cache has room for a filter of millions of keys") {
    assert(RocksDbMemory.shardBits(8L << 20) == 0)
    assert(RocksDbMemory.shardBits(128L << 20) == 3)
    assert(RocksDbMemory.shardBits(1L << 40) == 6)
  }

  test("what a snapshot carries along does not grow with those before it") {
    withRoot { root =>
      val pages = new PageMemory(16L << 20)
      val backend = new RocksDbBackend(new File(root, "db"), false, RocksDbSettings(), memory, pages)
      backend.createFamily("a", keyGroups = false, multi = false, internal = false)
      val bytes = (0 until 300).map { round =>
        backend.beginChanges(nowhere)
        (0 until 20).foreach(i => backend.family("a").put(f"key$i%05d".getBytes, Array.fill(100)(round.toByte)))
        backend.cutChanges()
        val local = backend.snapshot().materialize()
        val small = local.small.filter(_.getName.startsWith("MANIFEST-")).map(_.length).sum
        LocalFolder.delete(local.folder)
        small
      }
      assert(bytes.max <= RocksDbOptions.LongestManifest + 1024, bytes.mkString(" "))
      backend.close()
    }
  }

  test("short table files of a family are one in each snapshot, and long ones stay what they were") {
    withRoot { root =>
      val settings = RocksDbSettings(compression = "none", inlineThreshold = 20000)
      val backend = new RocksDbBackend(new File(root, "db"), false, settings, memory, new PageMemory(16L << 20))
      val (short, long) = (Seq("short", "other"), "long")
      (short :+ long).foreach(backend.createFamily(_, keyGroups = false, multi = false, internal = false))
      def put(family: String, keys: Range): Unit =
        keys.foreach(i => backend.family(family).put(f"key$i%05d".getBytes, new Array[Byte](100)))
      val tables = (0 until 4).map { round =>
        backend.beginChanges(nowhere)
        short.foreach(put(_, 0 until 20))
        put(long, round * 300 until round * 300 + (if (round < 2) 300 else 10))
        backend.cutChanges()
        val local = backend.snapshot().materialize()
        val lengths = local.tables.map(file => file.getName -> file.length).toMap
        LocalFolder.delete(local.folder)
        lengths
      }
      assert(tables.map(_.count(_._2 <= 20000)) == Seq(2, 2, 3, 4), tables)
      val lengthy = tables(1).filter(_._2 > 20000).toSet
      assert(lengthy.size == 2 && tables.tail.forall(there => lengthy.subsetOf(there.toSet)))
      short.foreach(name => assert(count(backend.family(name).iterate()) == 20))
      assert(count(backend.family(long).iterate()) == 620)
      backend.close()
    }
  }

  test("a scan shows its moment, whatever is changed while it runs") {
    withRoot { root =>
      val backend =
        new RocksDbBackend(new File(root, "db"), false, RocksDbSettings(), memory, new PageMemory(16L << 20))
      fill(backend, 50)
      backend.beginChanges(nowhere)
      val family = backend.family("a")
      val cursor = family.iterate()
      assert(cursor.next())
      family.put("key00001".getBytes, "other".getBytes)
      family.delete("key00002".getBytes)
      family.put("key99999".getBytes, "late".getBytes)
      family.deleteRange("key00010".getBytes, "key00020".getBytes)
      var rows = 1
      while (cursor.next()) { rows += 1; assert(cursor.value.length == 100) }
      assert(rows == 50)
      assert(count(family.iterate()) == 40 && family.keyCount == 40)
      backend.cutChanges()
      backend.close()
    }
  }

  private def count(cursor: RowCursor): Int = {
    var rows = 0
    while (cursor.next()) rows += 1
    rows
  }

  test("a read that meets a damaged file of the local disk fails with a code, whichever way it comes") {
    withRoot { root =>
      val pages = new PageMemory(1L << 20)
      val backend = new RocksDbBackend(new File(root, "db"), false, RocksDbSettings(), memory, pages)
      fill(backend, 3000)
      val families = backend.families.map(family => family.descriptor -> family.keyCount)
      val folder = backend.snapshot().materialize().folder
      backend.close()
      folder.listFiles().filter(_.getName.endsWith(".sst")).foreach { table =>
        val bytes = Files.readAllBytes(table.toPath)
        // The data blocks come first; what opens the file stays as it is.
        (0 until bytes.length / 2).foreach(i => bytes(i) = (bytes(i) ^ 0x55).toByte)
        Files.write(table.toPath, bytes)
      }
      val damaged = new RocksDbBackend(folder, true, RocksDbSettings(), memory, pages)
      try {
        damaged.restoreFamilies(families)
        val family = damaged.family("a")
        val key = "key00001".getBytes
        val reads = Seq[() => Any](
          () => family.get(key, 0, key.length),
          () => family.multiGet(Array(key, "absent".getBytes)),
          () => family.contains(key, 0, key.length),
          () => family.put(key, 0, key.length, key, 0, key.length),
          () => family.delete(key, 0, key.length),
          () => {
            val cursor = family.iterate()
            while (cursor.next()) ()
          }
        )
        assert(damaged.isSound)
        reads.foreach { read =>
          val failure = intercept[StorageFailure](read())
          assert(!damaged.isSound)
          assert(failure.getMessage.contains("RocksDB could not read its local files"))
          assert(failure.getMessage.contains("spark.local.dir"))
        }
      } finally damaged.close()
    }
  }

  test("equally long puts of a key take the room of one, unless each change is wanted") {
    for (each <- Seq(false, true)) withRoot { root =>
      var entries = 0
      val sink = new ChangeSink {
        override def eachChange: Boolean = each
        override def write(bytes: Array[Byte], offset: Int, length: Int, count: Int): Unit = entries += count
      }
      val backend =
        new RocksDbBackend(new File(root, "db"), false, RocksDbSettings(), memory, new PageMemory(1L << 20))
      try {
        backend.beginChanges(sink)
        val family = backend.createFamily("default", keyGroups = false, multi = false, internal = false)
        (0 until 500).foreach(i => family.put("k".getBytes, f"$i%05d".getBytes))
        family.delete("absent".getBytes, 0, 6): Unit
        backend.cutChanges()
        assert(entries == (if (each) 501 else 1))
        assert(new String(family.get("k".getBytes)) == "00499")
      } finally backend.close()
    }
  }

  test("a store of five states with a row each takes less than two megabytes for what it has not flushed") {
    withRoot { root =>
      val instance = new RocksDbInstance(new File(root, "db"), RocksDbSettings(), memory)
      try {
        (0 until 5).foreach { f =>
          val handle = instance.family(s"family-$f")
          instance.db.put(handle, "k".getBytes, "v".getBytes)
        }
        assert(instance.property("rocksdb.cur-size-all-mem-tables") < (2L << 20))
      } finally instance.close()
    }
  }
}
