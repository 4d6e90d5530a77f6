package io.snapline.spark.operator.channel

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.{CheckpointDamaged, StorageFailure}
import io.snapline.storage.ArrayStorage

class CutRecordsSpec extends AnyFunSuite {
  private val random = new Random(7)
  private val rows = Seq.fill(70000)(RowIdentity(random.nextLong(), random.nextLong()))
  private val name = "5/0-3"

  private def records(storage: ArrayStorage) = new CutRecords(storage, 5, 0, 3)

  private def written(record: CutRecord): Array[Byte] = {
    val storage = new ArrayStorage("memory")
    records(storage).write(record)
    storage.bytes(name)
  }

  test("what an attempt noted is read back, whatever it is") {
    Seq(CutRecord.Whole, CutRecord.At(4, 17), CutRecord.At(5, 0), CutRecord.Within(rows)).foreach { record =>
      val storage = new ArrayStorage("memory")
      assert(records(storage).find(committed = true).isEmpty)
      records(storage).write(record)
      assert(records(storage).find(committed = true).contains(record))
    }
  }

  test("whoever is first has the name") {
    val storage = new ArrayStorage("memory")
    records(storage).write(CutRecord.At(5, 0))
    intercept[StorageFailure](records(storage).write(CutRecord.Whole)): Unit
    assert(records(storage).find(committed = false).contains(CutRecord.At(5, 0)))
  }

  test(
    "every byte that is flipped and every end that is missing is seen; before the batch is committed it counts as none"
  ) {
    val bytes = written(CutRecord.Within(rows.take(3)))
    val harmed = bytes.indices.map { i =>
      val copy = bytes.clone()
      copy(i) = (copy(i) ^ (1 << random.nextInt(8))).toByte
      copy
    } ++ bytes.indices.map(bytes.take)
    harmed.foreach { copy =>
      // The byte that says nothing yet is covered by the header's checksum too.
      intercept[CheckpointDamaged](records(new ArrayStorage("m", Map(name -> copy))).find(committed = true)): Unit
      val storage = new ArrayStorage("m", Map(name -> copy))
      assert(records(storage).find(committed = false).isEmpty)
      records(storage).write(CutRecord.Whole)
      assert(records(storage).find(committed = true).contains(CutRecord.Whole))
    }
  }

  test("a note of another batch or partition is none of this one") {
    val bytes = written(CutRecord.Whole)
    val storage = new ArrayStorage("memory", Map("6/0-3" -> bytes))
    intercept[CheckpointDamaged](new CutRecords(storage, 6, 0, 3).find(committed = true)): Unit
  }
}
