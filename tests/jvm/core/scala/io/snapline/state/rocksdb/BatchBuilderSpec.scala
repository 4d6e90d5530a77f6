package io.snapline.state.rocksdb

import java.nio.file.Files

import scala.util.Random

import org.rocksdb._
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.InternalError
import io.snapline.state.LocalFolder
import io.snapline.state.rowtable.{Entry, Op}

/** Batches built on the heap against those RocksDB builds itself. */
class BatchBuilderSpec extends AnyFunSuite {
  RocksDB.loadLibrary()

  private def page(op: Int, key: Array[Byte], value: Array[Byte]): (Array[Byte], Entry) = {
    val bytes = new Array[Byte](Entry.size(0, key.length, value.length))
    Entry.write(bytes, 0, op, 0, key, 0, key.length, value, 0, value.length)
    val entry = new Entry
    entry.read(bytes, 0)
    (bytes, entry)
  }

  private def withDatabase(families: Int)(body: (RocksDB, Seq[ColumnFamilyHandle]) => Unit): Unit = {
    val folder = Files.createTempDirectory("snapline-batch").toFile
    val append = new StringAppendOperator("")
    val options = new ColumnFamilyOptions().setMergeOperator(append)
    val database = new DBOptions().setCreateIfMissing(true).setCreateMissingColumnFamilies(true)
    val handles = new java.util.ArrayList[ColumnFamilyHandle]
    val descriptors = new java.util.ArrayList[ColumnFamilyDescriptor]
    descriptors.add(new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, options))
    (1 until families).foreach(i => descriptors.add(new ColumnFamilyDescriptor(s"f$i".getBytes("US-ASCII"), options)))
    val db = RocksDB.open(database, folder.getPath, descriptors, handles)
    try body(db, (0 until families).map(handles.get))
    finally {
      handles.forEach(_.close())
      db.close()
      database.close()
      options.close()
      append.close()
      LocalFolder.delete(folder)
    }
  }

  private def rows(db: RocksDB, family: ColumnFamilyHandle): Seq[(Vector[Byte], Vector[Byte])] = {
    val iterator = db.newIterator(family)
    try {
      val found = Seq.newBuilder[(Vector[Byte], Vector[Byte])]
      iterator.seekToFirst()
      while (iterator.isValid) {
        found += iterator.key.toVector -> iterator.value.toVector
        iterator.next()
      }
      iterator.status()
      found.result()
    } finally iterator.close()
  }

  test("a built batch leaves the database as RocksDB's own does") {
    val families = 3
    withDatabase(families) { (ours, ourHandles) =>
      withDatabase(families) { (theirs, theirHandles) =>
        val random = new Random(3)
        val writes = new WriteOptions().setDisableWAL(true)
        val builder = new BatchBuilder(0)
        (0 until 20).foreach { _ =>
          val reference = new WriteBatch
          (0 until 300).foreach { _ =>
            val family = random.nextInt(families)
            def key(): Array[Byte] = Array.fill(1 + random.nextInt(2))(random.nextInt(12).toByte)
            val length = if (random.nextInt(50) == 0) 20000 else random.nextInt(200)
            val value = random.nextBytes(length)
            val first = key()
            random.nextInt(10) match {
              case n if n < 6 =>
                val (bytes, entry) = page(Op.Put, first, value)
                builder.add(bytes, entry, ourHandles(family).getID)
                reference.put(theirHandles(family), first, value)
              case n if n < 8 =>
                val (bytes, entry) = page(Op.Merge, first, value)
                builder.add(bytes, entry, ourHandles(family).getID)
                reference.merge(theirHandles(family), first, value)
              case 8 =>
                val (bytes, entry) = page(Op.Delete, first, Array.emptyByteArray)
                builder.add(bytes, entry, ourHandles(family).getID)
                reference.delete(theirHandles(family), first)
              case _ =>
                val last = first.clone
                last(0) = (last(0) + 2).toByte
                val (bytes, entry) = page(Op.DeleteRange, first, last)
                builder.add(bytes, entry, ourHandles(family).getID)
                reference.deleteRange(theirHandles(family), first, last)
            }
          }
          assert(!builder.isEmpty)
          val batch = new WriteBatch(builder.take())
          assert(batch.count == 300 && builder.isEmpty)
          ours.write(writes, batch)
          theirs.write(writes, reference)
          batch.close()
          reference.close()
        }
        ourHandles.zip(theirHandles).foreach { case (a, b) =>
          val found = rows(ours, a)
          assert(found == rows(theirs, b) && found.nonEmpty)
        }
        writes.close()
      }
    }
  }

  test("a batch is full before it is large, and grows for one large row") {
    val builder = new BatchBuilder(0)
    val (bytes, entry) = page(Op.Put, Array[Byte](1), new Array[Byte](1 << 21))
    builder.add(bytes, entry, 70000)
    assert(builder.isFull)
    assert(builder.take().length > (1 << 21))
    assert(!builder.isFull && builder.isEmpty)
  }

  test("what is no change is refused") {
    Seq(Op.Void, Op.Absent).foreach { op =>
      val (bytes, entry) = page(op, Array[Byte](1), Array.emptyByteArray)
      intercept[InternalError](new BatchBuilder(0).add(bytes, entry, 0))
    }
  }
}
