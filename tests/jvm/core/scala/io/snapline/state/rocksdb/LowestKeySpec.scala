package io.snapline.state.rocksdb

import java.io.File
import java.nio.file.Files

import scala.collection.mutable
import scala.util.Random

import org.rocksdb.PerfLevel
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.state._
import io.snapline.state.rowtable.PageMemory

/** Scans begin where rows are: tombstones of what was worked off are passed once. Counted by RocksDB itself. */
class LowestKeySpec extends AnyFunSuite {
  private val nowhere: ChangeSink = (_, _, _, _) => ()

  private def withFamily(body: (RocksDbBackend, ColumnFamily) => Unit): Unit = {
    val root = Files.createTempDirectory("snapline-lowest").toFile
    val backend =
      new RocksDbBackend(
        new File(root, "db"),
        false,
        RocksDbSettings(),
        new RocksDbMemory(16L << 20),
        new PageMemory(4L << 20)
      )
    try {
      backend.beginChanges(nowhere)
      body(backend, backend.createFamily("timers", keyGroups = false, multi = false, internal = true))
    } finally {
      backend.close()
      LocalFolder.delete(root)
    }
  }

  private def key(i: Int): Array[Byte] = f"$i%06d".getBytes

  private def put(family: ColumnFamily, i: Int): Unit = family.put(key(i), 0, 6, Array[Byte](1), 0, 1)
  private def delete(family: ColumnFamily, i: Int): Unit = family.delete(key(i), 0, 6): Unit

  private def first(family: ColumnFamily): Option[String] = {
    val cursor = family.iterate()
    try if (cursor.next()) Some(new String(cursor.key)) else None
    finally cursor.close()
  }

  private def all(family: ColumnFamily): Seq[String] = {
    val cursor = family.iterate()
    val found = mutable.ArrayBuffer.empty[String]
    while (cursor.next()) found += new String(cursor.key)
    found.toSeq
  }

  private def passed(backend: RocksDbBackend)(body: => Unit): Long = {
    val db = backend.open.db
    db.setPerfLevel(PerfLevel.ENABLE_COUNT)
    db.getPerfContext.reset()
    try {
      body
      db.getPerfContext.getInternalDeleteSkippedCount
    } finally db.setPerfLevel(PerfLevel.DISABLE)
  }

  test("tombstones are passed by the first scan and by no other") {
    withFamily { (backend, family) =>
      (0 until 20000).foreach(put(family, _))
      assert(first(family).contains("000000"))
      backend.open.flushAll()
      (0 until 19000).foreach(delete(family, _))
      assert(passed(backend)(assert(first(family).contains("019000"))) >= 10000)
      assert(passed(backend)((1 to 10).foreach(_ => assert(first(family).contains("019000")))) == 0)
      // One round after another, as timers are taken.
      val rounds = (19000 until 20000 by 100).map { from =>
        (from until from + 100).foreach(delete(family, _))
        passed(backend)(first(family): Unit)
      }
      assert(rounds.sum <= 1000 && first(family).isEmpty)
      assert(passed(backend)(assert(first(family).isEmpty)) == 0)
      // What is registered before all others is found all the same.
      put(family, 7)
      assert(first(family).contains("000007"))
    }
  }

  test("whatever is put and taken away, every scan finds all there is") {
    withFamily { (backend, family) =>
      val random = new Random(11)
      val model = mutable.TreeSet.empty[String]
      (1 to 3000).foreach { step =>
        random.nextInt(10) match {
          case 0 => assert(all(family) == model.toSeq, s"step $step")
          case 1 => assert(first(family) == model.headOption, s"step $step")
          case 2 =>
            // A cursor that is moved only after a change below what it will find.
            val cursor = family.iterate()
            val i = random.nextInt(300)
            put(family, i)
            model += new String(key(i))
            cursor.next(): Unit
            cursor.close()
          case 3 =>
            val (from, until) = (random.nextInt(300), random.nextInt(300))
            val cursor = family.rangeScan(key(from), key(until))
            val found = mutable.ArrayBuffer.empty[String]
            while (cursor.next()) found += new String(cursor.key)
            val range = if (from < until) model.range(new String(key(from)), new String(key(until))).toSeq else Nil
            assert(found.toSeq == range, s"step $step")
          case 4 | 5 =>
            val i = random.nextInt(300)
            put(family, i)
            model += new String(key(i))
          case 6 =>
            val from = random.nextInt(300)
            family.deleteRange(key(from), key(from + 20))
            model --= model.range(new String(key(from)), new String(key(from + 20))).toSeq
          case _ =>
            model.headOption.foreach { lowest =>
              delete(family, lowest.toInt)
              model -= lowest
            }
        }
      }
    }
  }
}
