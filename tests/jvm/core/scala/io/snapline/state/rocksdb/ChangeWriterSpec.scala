package io.snapline.state.rocksdb

import java.io.File
import java.nio.file.Files

import scala.collection.mutable
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.state.rowtable.{Entry, Op, Page, PageMemory}
import io.snapline.state.{LocalFolder, RowCursor}

/** Changes are sorted on their way, and RocksDB has what it would have without. */
class ChangeWriterSpec extends AnyFunSuite {
  private def withBackend(body: (RocksDbBackend, IndexedSeq[RocksDbFamily]) => Unit): Unit = {
    val root = Files.createTempDirectory("snapline-changes").toFile
    val memory = new RocksDbMemory(16L << 20)
    val backend = new RocksDbBackend(new File(root, "db"), false, RocksDbSettings(), memory, new PageMemory(1L << 20))
    try {
      val families = Seq("plain" -> false, "lists" -> true).map { case (name, multi) =>
        backend.createFamily(name, keyGroups = false, multi = multi, internal = false).asInstanceOf[RocksDbFamily]
      }
      body(backend, families.toIndexedSeq)
    } finally {
      backend.close()
      LocalFolder.delete(root)
    }
  }

  private def append(page: Page, op: Int, family: Int, key: Array[Byte], value: Array[Byte]): Unit =
    page.used = Entry.write(page.bytes, page.used, op, family, key, 0, key.length, value, 0, value.length)

  private def rowsOf(cursor: RowCursor): Map[Seq[Byte], Seq[Byte]] = {
    val found = mutable.Map.empty[Seq[Byte], Seq[Byte]]
    try while (cursor.next()) found(cursor.key.toSeq) = cursor.value.toSeq
    finally cursor.close()
    found.toMap
  }

  for (seed <- 1 to 30) test(s"random changes of two families, in some pages, seed $seed") {
    val random = new Random(seed)
    // Some keys are the beginnings of others, and some have more than eight bytes in common, at one place or another.
    val beginning = "the same beginning ".take(random.nextInt(19))
    def key(): Array[Byte] = (beginning + "ab" * random.nextInt(12) + random.nextInt(40)).getBytes
    withBackend { (backend, families) =>
      val models = families.map(_ => mutable.Map.empty[Seq[Byte], Seq[Byte]])
      val writer = new ChangeWriter(id => families.find(_.descriptor.id == id).orNull, backend.open.write(_))
      (0 until 5).foreach { _ =>
        val runs = (1 to 1 + random.nextInt(4)).map { number =>
          val page = new Page(new Array[Byte](64 << 10), number, true)
          (0 until random.nextInt(200)).foreach { i =>
            val at = random.nextInt(2)
            val (model, changed) = (models(at), key())
            val value = s"$i,".getBytes
            random.nextInt(20) match {
              case 0 if random.nextInt(10) == 0 =>
                val bounds = Seq(key(), key()).sortWith(java.util.Arrays.compareUnsigned(_, _) < 0)
                append(page, Op.DeleteRange, families(at).descriptor.id, bounds.head, bounds.last)
                model.keys.toSeq.foreach { there =>
                  val bytes = there.toArray
                  if (
                    java.util.Arrays.compareUnsigned(bytes, bounds.head) >= 0 &&
                    java.util.Arrays.compareUnsigned(bytes, bounds.last) < 0
                  ) model.remove(there)
                }
              case 1 => append(page, Op.Void, families(at).descriptor.id, changed, value)
              case n if n < 6 =>
                append(page, Op.Delete, families(at).descriptor.id, changed, Array.empty)
                model.remove(changed.toSeq)
              case n if n < 12 && at == 1 =>
                append(page, Op.Merge, families(at).descriptor.id, changed, value)
                model(changed.toSeq) = model.getOrElse(changed.toSeq, Seq.empty) ++ value.toSeq
              case _ =>
                append(page, Op.Put, families(at).descriptor.id, changed, value)
                model(changed.toSeq) = value.toSeq
            }
          }
          ChangeQueue.Run(page, 0, page.used)
        }
        writer(runs)
        families.zip(models).foreach { case (family, model) =>
          assert(rowsOf(backend.scanBelow(family, null, null)) == model.toMap)
        }
      }
    }
  }

  test("changes of one family come in the order of their keys, and those of a removed one do not come") {
    withBackend { (backend, families) =>
      val written = mutable.ArrayBuffer.empty[Array[Byte]]
      val writer = new ChangeWriter(id => if (id == 0) families.head else null, written += _)
      val random = new Random(1)
      val pages = (1 to 3).map(number => new Page(new Array[Byte](64 << 10), number, true))
      pages.foreach(page =>
        (0 until 500).foreach { _ =>
          append(page, Op.Put, 0, f"key${random.nextInt(100000)}%07d".getBytes, "v".getBytes)
          append(page, Op.Put, 1, "gone".getBytes, "v".getBytes)
        }
      )
      writer(pages.map(page => ChangeQueue.Run(page, 0, page.used)))
      val text = new String(written.reduce(_ ++ _), "ISO-8859-1")
      val keys = "key\\d{7}".r.findAllIn(text).toSeq
      assert(keys.size == 1500)
      assert(keys == keys.sorted)
      assert(!text.contains("gone"))
    }
  }
}
