package io.snapline.spark.savepoint

import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

class EntryBytesSpec extends AnyFunSuite {
  private val schema = new StructType().add("a", StringType).add("b", LongType)
  private val project = UnsafeProjection.create(schema)
  private val random = new Random(4)

  private def row(): UnsafeRow =
    project(InternalRow(UTF8String.fromString(random.nextString(random.nextInt(30))), random.nextLong())).copy()

  test("comes out as it went in, whatever the number of values") {
    val nothing = UnsafeProjection.create(new StructType()).apply(InternalRow.empty).copy()
    for (count <- Seq(0, 1, 2, 17)) {
      val (key, values) = (row(), Seq.fill(count)(row()))
      val (family, readKey, readValues) = EntryBytes.unpack(EntryBytes.pack(1, key, values), IndexedSeq((9, 9), (2, 2)))
      assert((family, readKey, readValues.toSeq) == ((1, key, values)))
    }
    val (_, key, values) = EntryBytes.unpack(EntryBytes.pack(0, nothing, Seq(row())), IndexedSeq((0, 2)))
    assert(key == nothing)
    assert(values.length == 1)
  }
}
