package io.snapline.state.rocksdb

import java.io.{ByteArrayOutputStream, File}
import java.nio.file.Files

import scala.collection.mutable
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.state.rowtable.PageMemory
import io.snapline.state.timeindex.IndexMemory
import io.snapline.state.{ChangeSink, FamilyDescriptor, LocalFolder, RowCursor}

/** Scans by prefix see the rows that there are, and leave RocksDB alone where a prefix has none. */
class PrefixScansSpec extends AnyFunSuite {
  private val memory = new RocksDbMemory(16L << 20)
  private val descriptor = FamilyDescriptor(0, "default", keyGroups = false, multi = false, internal = false)
  private val PrefixBytes = 4
  private type Rows = Map[String, Seq[Byte]]

  private def key(prefix: Int, i: Int): String = f"p$prefix%03d/$i"

  private def value(i: Int): Array[Byte] = Array.fill(i % 60)(i.toByte)

  private def rowsOf(cursor: RowCursor): Rows = {
    val found = mutable.Map.empty[String, Seq[Byte]]
    while (cursor.next()) found(new String(cursor.key)) = cursor.value.toSeq
    found.toMap
  }

  /** One backend after another on the same state, each from a snapshot of the one before, or from its changes too. */
  private final class State(seed: Int, tableBytes: Long, filterBytes: Long, listBytes: Long) extends AutoCloseable {
    val random = new Random(seed)
    private val root = Files.createTempDirectory("snapline-prefixes").toFile
    private val filters = new IndexMemory(filterBytes)
    private val lists = new IndexMemory(listBytes)
    private val pages = new PageMemory(tableBytes)
    private val changes = new ByteArrayOutputStream
    private val sink: ChangeSink = (bytes, offset, size, _) => changes.write(bytes, offset, size)
    private var snapshot = new File(root, "none")
    private var opened = 0
    val model: mutable.Map[String, Seq[Byte]] = mutable.Map.empty
    var backend: RocksDbBackend = _
    var family: RocksDbFamily = _
    open(restored = false)

    private def open(restored: Boolean): Unit = {
      opened += 1
      val folder = if (restored) snapshot else new File(root, s"db-$opened")
      backend = new RocksDbBackend(folder, restored, RocksDbSettings(), memory, pages, filters, lists)
      if (opened > 1) backend.restoreFamilies(Seq(descriptor -> model.size.toLong))
      if (changes.size > 0) backend.replay(changes.toByteArray, changes.size)
      family = backend.createFamily("default", keyGroups = false, multi = false, internal = false)
        .asInstanceOf[RocksDbFamily]
      family.hasPrefixes((_, _, _) => PrefixBytes)
    }

    def batch(body: => Unit): Unit = {
      backend.beginChanges(sink)
      body
      backend.cutChanges()
    }

    def takeSnapshot(): Unit = {
      val local = backend.snapshot().materialize()
      LocalFolder.delete(snapshot)
      snapshot = local.folder
      changes.reset()
    }

    /** Begins again from the newest snapshot and the changes since. */
    def reopen(): Unit = {
      val kept = new File(root, s"kept-$opened")
      val restored = snapshot.exists
      if (restored) {
        kept.mkdirs()
        snapshot.listFiles.foreach(file => Files.copy(file.toPath, new File(kept, file.getName).toPath))
      }
      backend.close()
      open(restored)
      snapshot = kept
    }

    def scan(prefix: Int): Rows = {
      val begin = key(prefix, 0).take(PrefixBytes)
      val found = rowsOf(family.prefixScan(begin.getBytes))
      assert(found == model.filter(_._1.startsWith(begin)).toMap)
      found
    }

    def put(key: String, bytes: Array[Byte]): Unit = {
      family.put(key.getBytes, bytes)
      model(key) = bytes.toSeq
    }

    override def close(): Unit = {
      backend.close()
      LocalFolder.delete(root)
      assert(filters.used == 0 && lists.used == 0)
    }
  }

  private def withState(
      seed: Int,
      tableBytes: Long = 16L << 20,
      filterBytes: Long = 1L << 20,
      listBytes: Long = 1L << 20
  )(body: State => Unit): Unit = {
    val state = new State(seed, tableBytes, filterBytes, listBytes)
    try body(state)
    finally state.close()
  }

  private def randomRun(state: State, prefixes: Int = 200): Unit = {
    import state._
    for (_ <- 0 until 300) {
      batch {
        for (_ <- 0 until 30) {
          val prefix = random.nextInt(prefixes)
          val one = key(prefix, random.nextInt(if (prefix == 7) 150 else 5))
          random.nextInt(8) match {
            case 0 | 1 => put(one, value(random.nextInt(1000)))
            case 2 | 3 =>
              assert(family.delete(one.getBytes) == model.contains(one))
              model.remove(one): Unit
            case 4 => assert(Option(family.get(one.getBytes)).map(_.toSeq) == model.get(one))
            case _ => scan(prefix): Unit
          }
        }
        if (random.nextInt(40) == 0) {
          val from = random.nextInt(prefixes)
          family.deleteRange(key(from, 2).getBytes, key(from + 3, 2).getBytes)
          model --= model.keys.filter(each => each >= key(from, 2) && each < key(from + 3, 2)).toSeq
        }
      }
      if (random.nextInt(10) == 0) takeSnapshot()
      if (random.nextInt(30) == 0) reopen()
      assert(family.keyCount == model.size)
    }
    (0 until prefixes).foreach(scan)
  }

  for (seed <- 1 to 10) {
    test(s"random changes and scans, seed $seed")(withState(seed)(randomRun(_)))
    test(s"random changes and scans where the table has no memory, seed $seed")(withState(seed, 0)(randomRun(_)))
    test(s"random changes and scans where filters have none, seed $seed") {
      withState(seed, filterBytes = 0)(randomRun(_))
    }
    test(s"random changes and scans where lists have little memory, seed $seed") {
      withState(seed, listBytes = 3000)(randomRun(_))
    }
    test(s"random changes and scans of more prefixes than memory does for, seed $seed") {
      withState(seed, filterBytes = 600, listBytes = 3000)(randomRun(_, prefixes = 900))
    }
  }

  test("where the state began empty, a prefix that has no key is not looked for below") {
    withState(1) { state =>
      import state._
      batch((0 until 100).foreach { prefix =>
        assert(scan(prefix).isEmpty)
        put(key(prefix, 1), value(prefix))
      })
      takeSnapshot()
      val (gets, hits) = (backend.gets, backend.hits)
      batch((0 until 200).foreach(scan))
      assert(backend.gets - gets == 100 && backend.hits - hits == 100)
      assert(prefixesAsk(state, 200 until 300) == 0)
    }
  }

  test("after a restore, scans that find nothing pay for a walk, and then need RocksDB no more") {
    withState(2) { state =>
      import state._
      batch((0 until 500).foreach(prefix => put(key(prefix, 1), value(prefix))))
      takeSnapshot()
      batch((500 until 600).foreach(prefix => put(key(prefix, 1), value(prefix))))
      reopen()
      assert(prefixesAsk(state, 600 until 700) == 100)
      batch(assert(prefixesAsk(state, 700 until 760) == 60))
      batch(())
      assert(prefixesAsk(state, 760 until 900) < 10)
      batch((0 until 600).foreach(prefix => assert(scan(prefix).size == 1)))
    }
  }

  test("a walk sees rows that are above RocksDB alone") {
    withState(3, filterBytes = 600, listBytes = 0) { state =>
      import state._
      batch {
        // No list is made of it before there is a scan, which has RocksDB take all changes so far.
        put(key(999, 1), value(1))
        scan(999): Unit
        // More prefixes than the filter has room for.
        (0 until 400).foreach(prefix => put(key(prefix, 1), value(prefix)))
        (500 until 700).foreach(scan)
      }
      batch(())
      (0 until 400).foreach(prefix => assert(scan(prefix).size == 1))
    }
  }

  /** How many of these scans, of prefixes that have no key, looked into RocksDB. */
  private def prefixesAsk(state: State, prefixes: Range): Int = prefixes.count { prefix =>
    val before = state.backend.scans
    assert(state.scan(prefix).isEmpty)
    state.backend.scans > before
  }
}
