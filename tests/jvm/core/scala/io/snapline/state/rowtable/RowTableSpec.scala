package io.snapline.state.rowtable

import scala.collection.mutable
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** The row table over an owner that keeps in a map what it is told to apply, as RocksDB would. */
class RowTableSpec extends AnyFunSuite {

  /** @param all
    *   the table has every row in the beginning
    */
  private final class Below(limit: Long, all: Boolean) extends PageOwner {
    val memory = new PageMemory(limit)
    val rows = mutable.Map.empty[String, Vector[Byte]]
    val closedPages = mutable.ArrayBuffer.empty[Page]
    val table = new RowTable(memory, this)
    private val entry = new Entry
    private val queue = mutable.Queue.empty[Page]
    var hasAll: Boolean = all

    /** What the next version's changelog would hold. */
    val written = mutable.ArrayBuffer.empty[Byte]

    override def closed(page: Page): Unit = {
      written ++= page.bytes.slice(page.writtenTo, page.used)
      page.writtenTo = page.used
      page.unwrittenCount = 0
      closedPages += page
      page.pendingRuns = 1
      queue += page
    }

    override def leavesNoMark(family: Int): Boolean = hasAll

    override def lost(family: Int, hash: Int): Unit = if (hasAll) {
      applyAll()
      hasAll = false
    }

    def applyAll(): Unit = {
      while (queue.nonEmpty) apply(queue.last)
      if (table.current != null) applyOne(table.current)
    }

    /** Those before it first. */
    override def apply(page: Page): Unit =
      if (!queue.contains(page)) applyOne(page)
      else while (page.pendingRuns > 0) {
        val next = queue.dequeue()
        applyOne(next)
        next.pendingRuns = 0
      }

    private def applyOne(page: Page): Unit = {
      var at = page.queuedTo
      while (at < page.used) {
        entry.read(page.bytes, at)
        val key = new String(page.bytes, entry.keyOffset, entry.keyLength, "US-ASCII")
        val value = page.bytes.slice(entry.valueOffset, entry.end).toVector
        entry.op match {
          case Op.Put => rows(key) = value
          case Op.Merge => rows(key) = rows.getOrElse(key, Vector.empty) ++ value
          case Op.Delete => rows -= key
          case _ => ()
        }
        at = entry.end
      }
      page.queuedTo = page.used
    }

    private def hash(key: Array[Byte]): Int = RowIndex.hash(0, key, 0, key.length)

    def log(op: Int, name: String, value: Array[Byte]): Unit = {
      val key = name.getBytes("US-ASCII")
      val slot = table.find(hash(key), 0, key, 0, key.length)
      table.log(slot, hash(key), op, 0, key, 0, key.length, value, 0, if (value == null) 0 else value.length)
    }

    def put(name: String, value: Array[Byte]): Unit = log(Op.Put, name, value)

    /** Through the table to the rows below, as the backend reads. */
    def get(name: String): Option[Vector[Byte]] = {
      val key = name.getBytes("US-ASCII")
      if (table.find(hash(key), 0, key, 0, key.length) < 0) {
        val below = if (hasAll) None else rows.get(name)
        if (!hasAll) table.remember(hash(key), 0, key, 0, key.length, below.map(_.toArray).orNull)
        below
      } else
        table.entry.op match {
          case Op.Put => Some(table.copyValue().toVector)
          case Op.Absent => None
          case Op.Delete => None
          case other => fail(s"operation $other")
        }
    }

    def close(): Unit = table.close()
  }

  private def withTable(limit: Long, all: Boolean = false)(body: Below => Unit): Unit = {
    val below = new Below(limit, all)
    try body(below)
    finally {
      below.close()
      assert(below.memory.used == 0, "memory is given back")
    }
  }

  private def value(seed: Int, length: Int): Array[Byte] = Array.fill(length)(seed.toByte)

  test("a put of the same length in an interval overwrites in place, of another voids the older entry") {
    withTable(64L << 20) { below =>
      below.put("a", value(1, 10))
      val used = below.table.current.used
      below.put("a", value(2, 10))
      assert(below.table.current.used == used)
      below.put("a", value(3, 11))
      assert(below.table.current.used > used)
      val first = new Entry
      first.read(below.table.current.bytes, 0)
      assert(first.op == Op.Void)
      assert(below.get("a").contains(value(3, 11).toVector))
      assert(below.table.keys == 1)
    }
  }

  test("entries of an earlier interval are never changed") {
    withTable(64L << 20) { below =>
      below.put("a", value(1, 10))
      val page = below.table.current
      val before = page.bytes.take(page.used)
      below.table.startInterval()
      below.put("a", value(2, 10))
      below.put("a", value(3, 12))
      below.log(Op.Delete, "a", null)
      assert(page.bytes.take(before.length).sameElements(before))
      assert(below.get("a").isEmpty)
    }
  }

  test("an entry the changelog has seen is voided, not overwritten") {
    withTable(64L << 20) { below =>
      below.put("a", value(1, 10))
      val page = below.table.current
      page.writtenTo = page.used
      below.put("a", value(2, 10))
      val first = new Entry
      first.read(page.bytes, 0)
      assert(first.op == Op.Void && page.bytes(first.valueOffset) == 1, "its bytes stay as the changelog has them")
      assert(below.get("a").contains(value(2, 10).toVector))
    }
  }

  test("a merge keeps the entry below it, and what replaces it leaves both") {
    withTable(64L << 20) { below =>
      below.put("a", value(1, 4))
      below.log(Op.Merge, "a", value(2, 4))
      below.put("a", value(3, 4))
      below.apply(below.table.current)
      assert(below.rows("a") == value(3, 4).toVector)
      val ops = entries(below.table.current).map(_._1)
      assert(ops == Seq(Op.Put, Op.Merge, Op.Put))
    }
  }

  private def entries(page: Page): Seq[(Int, String)] = {
    val found = Seq.newBuilder[(Int, String)]
    val entry = new Entry
    var at = 0
    while (at < page.used) {
      entry.read(page.bytes, at)
      found += entry.op -> new String(page.bytes, entry.keyOffset, entry.keyLength, "US-ASCII")
      at = entry.end
    }
    found.result()
  }

  test("the oldest page goes first, after its changes were applied") {
    withTable(0) { below =>
      (0 until 40).foreach(i => below.put(s"k$i", value(i, 50000)))
      assert(below.memory.used <= PageMemory.Floor + 64 * 1024)
      assert(below.rows.contains("k0") && !below.rows.contains("k39"))
      (0 until 40).foreach(i => assert(below.get(s"k$i").contains(value(i, 50000).toVector), s"k$i"))
    }
  }

  test("an entry that goes with its page in the very call that replaces it leaves no trace in the index") {
    // Keys changed in turn, about as many as there is room for: the next to change is in the oldest page.
    for (keys <- 80 to 110 by 10) {
      withTable(0) { below =>
        (0 until keys * 5).foreach { step =>
          val v = value(step, 10000 + step % 7)
          below.put(s"k${step % keys}", v)
          assert(below.get(s"k${step % keys}").contains(v.toVector))
          assert(below.table.keys <= keys, s"in step $step")
        }
        below.table.forget(0, (_, _, _) => true)
        assert(below.table.keys == 0)
      }
    }
  }

  for (limit <- Seq(0L, 3L << 20, 64L << 20); all <- Seq(false, true)) {
    test(s"random changes, reads and intervals keep to a map: $limit bytes${if (all) ", nothing below" else ""}") {
      withTable(limit, all) { below =>
        val random = new Random(11)
        val model = mutable.Map.empty[String, Vector[Byte]]
        (0 until 12000).foreach { step =>
          val name = s"k${random.nextInt(500)}"
          random.nextInt(100) match {
            case r if r < 60 =>
              val v = value(step, if (random.nextInt(40) == 0) 20000 + random.nextInt(40000) else random.nextInt(100))
              below.put(name, v)
              model(name) = v.toVector
            case r if r < 75 => below.log(Op.Delete, name, null); model -= name
            case r if r < 98 => assert(below.get(name) == model.get(name), s"$name in step $step")
            case 98 => below.applyAll()
            case _ => below.table.startInterval()
          }
        }
        (0 until 500).foreach(i => assert(below.get(s"k$i") == model.get(s"k$i")))
        // Each key has one slot at most.
        assert(below.table.keys <= 500)
      }
    }
  }

  private def name(i: Int): String = f"k$i%06d"

  test("a page whose rows were all replaced goes when its changes were applied") {
    withTable(64L << 20) { below =>
      for (round <- 1 to 20) {
        below.table.startInterval()
        (0 until 1000).foreach(i => below.put(name(i), value(round, 500)))
        below.applyAll()
      }
      assert(below.memory.used < (2L << 20), "two rounds of half a megabyte, and not twenty")
      (0 until 1000).foreach(i => assert(below.get(name(i)).contains(value(20, 500).toVector)))
      assert(below.rows.size == 1000)
    }
  }

  test("a page that waits to be applied stays") {
    withTable(64L << 20) { below =>
      for (round <- 1 to 4) {
        below.table.startInterval()
        (0 until 1000).foreach(i => below.put(name(i), value(round, 500)))
      }
      assert(below.memory.used > 4 * 500 * 1000)
      below.applyAll()
      assert(below.rows.values.forall(_ == value(4, 500).toVector))
    }
  }

  for (all <- Seq(false, true)) {
    test(s"rows that come and go leave nothing behind${if (all) ", nothing below" else ""}") {
      withTable(64L << 20, all) { below =>
        (0 until 200000).foreach { i =>
          below.put(name(i), value(i, 40))
          if (i >= 1000) below.log(Op.Delete, name(i - 1000), null)
          if (i % 20000 == 0) {
            below.applyAll()
            below.table.startInterval()
          }
        }
        assert(below.memory.used < (8L << 20))
        if (all) assert(below.table.keys == 1000)
        (199000 until 200000).foreach(i => assert(below.get(name(i)).contains(value(i, 40).toVector)))
        assert(below.get(name(0)).isEmpty)
      }
    }
  }

  test("where memory is full, the rows of pages that hold few of them move, and are not lost") {
    withTable(4L << 20, all = true) { below =>
      // One row in ten stays, of 20 MB.
      (0 until 40000).foreach { i =>
        below.put(name(i), value(i, 500))
        if (i % 10 != 0) below.log(Op.Delete, name(i), null)
      }
      assert(below.hasAll)
      assert(below.table.keys == 4000)
      (0 until 40000 by 10).foreach(i => assert(below.get(name(i)).contains(value(i, 500).toVector)))
    }
  }

  test("a deleted key stays deleted when the first row is lost to what is below") {
    withTable(0, all = true) { below =>
      below.put("gone", value(1, 10))
      below.applyAll()
      below.table.startInterval()
      below.log(Op.Delete, "gone", null)
      assert(below.rows.contains("gone") && below.hasAll)
      (0 until 40).foreach(i => below.put(s"k$i", value(i, 50000)))
      assert(!below.hasAll)
      assert(below.get("gone").isEmpty)
      (0 until 40).foreach(i => assert(below.get(s"k$i").contains(value(i, 50000).toVector)))
    }
  }

  test("rows read from below do not come into the changelog") {
    withTable(64L << 20) { below =>
      below.rows("a") = Vector[Byte](1)
      assert(below.get("a").contains(Vector[Byte](1)))
      assert(below.get("b").isEmpty)
      assert(below.table.current == null && below.written.isEmpty)
      assert(below.table.keys == 2)
    }
  }

  test("many tables share one memory and give it back") {
    val memory = new PageMemory(8L << 20)
    val owners = Seq.fill(10)(new PageOwner {
      override def closed(page: Page): Unit = page.writtenTo = page.used
      override def apply(page: Page): Unit = ()
      override def leavesNoMark(family: Int): Boolean = false
      override def lost(family: Int, hash: Int): Unit = ()
    })
    val tables = owners.map(new RowTable(memory, _))
    val key = new Array[Byte](4)
    for (round <- 0 until 400; table <- tables) {
      java.nio.ByteBuffer.wrap(key).putInt(round)
      val hash = RowIndex.hash(0, key, 0, 4)
      table.log(table.find(hash, 0, key, 0, 4), hash, Op.Put, 0, key, 0, 4, new Array[Byte](10000), 0, 10000)
    }
    assert(memory.used < 2 * memory.limit)
    tables.foreach(_.trim())
    assert(memory.used <= math.max(memory.limit, 10 * (PageMemory.Floor + (1 << 16))))
    tables.foreach(_.close())
    assert(memory.used == 0)
  }
}
