package io.snapline.state.rowtable

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.snapline.error.CheckpointDamaged

class EntrySpec extends AnyFunSuite with ScalaCheckPropertyChecks {
  private val lengths = Gen.oneOf(0, 1, 126, 127, 128, 129, 16383, 16384, 20000)
  private val families = Gen.oneOf(0, 1, 15, 16, 2047, 2048, 65535)
  private val ops = Gen.choose(0, 4)

  private def bytes(length: Int, seed: Int): Array[Byte] = Array.tabulate(length)(i => (i * 7 + seed).toByte)

  private def same(entry: Entry, at: Array[Byte], op: Int, family: Int, key: Array[Byte], value: Array[Byte]): Unit = {
    assert(entry.op == op && entry.family == family)
    assert(at.slice(entry.keyOffset, entry.keyOffset + entry.keyLength).sameElements(key))
    assert(at.slice(entry.valueOffset, entry.end).sameElements(value))
  }

  test("an entry reads back as it was written, believed or checked") {
    forAll(ops, families, lengths, lengths, Gen.choose(0, 3)) { (op, family, keyLength, valueLength, before) =>
      val (key, value) = (bytes(keyLength, 1), bytes(valueLength, 2))
      val size = Entry.size(family, keyLength, valueLength)
      val page = new Array[Byte](before + size)
      assert(Entry.write(page, before, op, family, key, 0, keyLength, value, 0, valueLength) == page.length)
      val entry = new Entry
      entry.read(page, before)
      same(entry, page, op, family, key, value)
      entry.readChecked(page, before, page.length)
      same(entry, page, op, family, key, value)
      assert(entry.end == page.length)
    }
  }

  test("an entry made void keeps its length and its family") {
    forAll(ops, families, lengths, lengths) { (op, family, keyLength, valueLength) =>
      val page = new Array[Byte](Entry.size(family, keyLength, valueLength))
      Entry.write(page, 0, op, family, bytes(keyLength, 1), 0, keyLength, bytes(valueLength, 2), 0, valueLength)
      Entry.makeVoid(page, 0)
      val entry = new Entry
      entry.readChecked(page, 0, page.length)
      assert(entry.op == Op.Void && entry.family == family && entry.end == page.length)
    }
  }

  test("an entry cut short anywhere is damage") {
    val page = new Array[Byte](Entry.size(300, 200, 300))
    Entry.write(page, 0, Op.Put, 300, bytes(200, 1), 0, 200, bytes(300, 2), 0, 300)
    (0 until page.length).foreach { limit =>
      intercept[CheckpointDamaged](new Entry().readChecked(page, 0, limit))
    }
  }

  test("what no writer writes is damage") {
    def refused(entry: Int*): Unit = {
      val page = entry.map(_.toByte).toArray
      intercept[CheckpointDamaged](new Entry().readChecked(page, 0, page.length)): Unit
    }
    refused(5, 0, 0) // no such operation
    refused(7, 0, 0)
    refused(0x81, 0x80, 0x80, 0x01, 0, 0) // family over 65,535
    refused(1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0) // more than five bytes
    refused(1, 0xff, 0xff, 0xff, 0xff, 0x7f, 0) // a length past every array
    refused(1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0)
    refused(1, 2, 0xfe, 0xff, 0xff, 0xff, 0x07, 1, 1) // lengths whose sum runs over
  }

  test("random bytes are read within their bounds or refused") {
    forAll(Gen.listOfN(40, Gen.choose(-128, 127)), minSuccessful(2000)) { list =>
      val page = list.map(_.toByte).toArray
      val entry = new Entry
      try {
        entry.readChecked(page, 0, page.length)
        assert(entry.keyOffset >= 3 && entry.keyLength >= 0 && entry.valueLength >= 0 && entry.end <= page.length)
        assert(entry.op <= Op.DeleteRange && entry.family >= 0 && entry.family <= 65535)
      } catch { case _: CheckpointDamaged => () }
    }
  }
}
