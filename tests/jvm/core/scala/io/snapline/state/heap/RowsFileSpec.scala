package io.snapline.state.heap

import java.io.File
import java.nio.file.Files

import scala.util.{Failure, Random, Success, Try}

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.{CheckpointDamaged, UnsupportedVersion}
import io.snapline.state.rowtable.Op

/** What was written is read; what is not what was written is never taken for rows that cannot be. */
class RowsFileSpec extends AnyFunSuite {
  private type Entries = Vector[(Int, Int, Seq[Byte], Seq[Byte])]

  private def withFile(body: File => Unit): Unit = {
    val file = File.createTempFile("snapline", "rows")
    try body(file)
    finally file.delete(): Unit
  }

  private def row(key: Array[Byte], value: Array[Byte]): Array[Byte] = {
    val row = Row.make(key, 0, key.length, value.length, 5)
    System.arraycopy(value, 0, row, Row.valueAt(row), value.length)
    row
  }

  /** Rows of three families after deletes, one of them larger than a block. */
  private def write(file: File, compress: Boolean, rows: Int): Entries = {
    val random = new Random(3)
    val writer = new RowsFileWriter(file, compress)
    val deletes = (0 until rows / 4).map { i =>
      val key = s"gone $i".getBytes
      writer.delete(i % 3, key)
      (Op.Delete, i % 3, key.toSeq, Seq.empty[Byte])
    }
    val puts = (0 until rows).map { i =>
      val (key, value) = (s"key $i".getBytes, random.nextBytes(if (i == 7) RowsFile.BlockBytes + 9 else i % 40))
      writer.put(i % 3, row(key, value))
      (Op.Put, i % 3, key.toSeq, value.toSeq)
    }
    writer.finish()
    (deletes ++ puts).toVector
  }

  private def read(file: File): Entries = {
    var entries: Entries = Vector.empty
    RowsFile.read(file) { (bytes, e) =>
      entries :+=
        ((e.op, e.family, bytes.slice(e.keyOffset, e.valueOffset).toSeq, bytes.slice(e.valueOffset, e.end).toSeq))
    }
    entries
  }

  for (compress <- Seq(true, false)) {
    test(s"what was written is read, compressed $compress") {
      Seq(0, 1, 5, 3000).foreach(rows => withFile(file => assert(write(file, compress, rows) == read(file))))
    }

    test(s"a file that was cut short or is longer is damaged, compressed $compress") {
      withFile { file =>
        write(file, compress, 6): Unit
        val whole = Files.readAllBytes(file.toPath)
        (0 until whole.length).foreach { length =>
          Files.write(file.toPath, whole.take(length))
          intercept[CheckpointDamaged](read(file))
        }
        Files.write(file.toPath, whole :+ 0.toByte)
        intercept[CheckpointDamaged](read(file))
      }
    }

    // The handle's checksum finds every flip; this is for what comes after it.
    test(s"a flipped byte is damage, or another row of the same form, and never another error, compressed $compress") {
      withFile { file =>
        val entries = write(file, compress, 40)
        val whole = Files.readAllBytes(file.toPath)
        val outcomes = for (
          at <- whole.indices.take(150) ++ whole.indices.takeRight(150) ++ whole.indices.by(4999); bit <- 0 until 8
        ) yield {
          val harmed = whole.clone()
          harmed(at) = (harmed(at) ^ (1 << bit)).toByte
          Files.write(file.toPath, harmed)
          Try(read(file)) match {
            case Success(found) => assert(found.size == entries.size, s"byte $at"); false
            case Failure(_: CheckpointDamaged | _: UnsupportedVersion) => true
            case Failure(other) => throw new AssertionError(s"byte $at", other)
          }
        }
        assert(outcomes.count(identity) > 50)
      }
    }
  }

  test("operations that are none of rows, and a later format") {
    withFile { file =>
      write(file, compress = false, 1): Unit
      val whole = Files.readAllBytes(file.toPath)
      def set(at: Int, value: Int): Unit = {
        Files.write(file.toPath, whole.updated(at, value.toByte)): Unit
      }
      set(20, Op.Merge)
      assert(intercept[CheckpointDamaged](read(file)).found.contains("operation 3"))
      set(8, 2)
      assert(intercept[UnsupportedVersion](read(file)).found.contains("format 2"))
    }
  }
}
