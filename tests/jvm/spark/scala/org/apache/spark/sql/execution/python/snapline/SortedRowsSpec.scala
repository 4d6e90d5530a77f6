package org.apache.spark.sql.execution.python.snapline

import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, UnsafeProjection}
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

class SortedRowsSpec extends AnyFunSuite {
  private val name = AttributeReference("name", StringType)()
  private val map = AttributeReference("m", MapType(IntegerType, IntegerType))()
  private val at = AttributeReference("at", IntegerType)()
  private val columns = Seq[Attribute](name, map, at)
  private val project = UnsafeProjection.create(columns.map(_.dataType).toArray)

  private def row(name: String, entry: Int, at: Integer): InternalRow = {
    val map = new ArrayBasedMapData(new GenericArrayData(Array(entry)), new GenericArrayData(Array(entry)))
    project(InternalRow(UTF8String.fromString(name), map, at)).copy()
  }

  private def texts(rows: Any): Seq[(String, Int, Option[Int])] = rows.asInstanceOf[Array[InternalRow]].toSeq.map { r =>
    (r.getUTF8String(0).toString, r.getMap(1).keyArray().getInt(0), if (r.isNullAt(2)) None else Some(r.getInt(2)))
  }

  test("one order, however the rows arrive: columns asked for, columns from the left, then bytes") {
    val sorted = Seq(row("b", 1, null), row("a", 2, 1), row("b", 0, 1), row("b", 3, 1), row("a", 1, 2), row("a", 1, 2))
    val order = SortedRows.of(Seq(at), columns)
    (0 until 50).foreach { seed =>
      val shuffled = new Random(seed).shuffle(sorted).toArray
      assert(texts(order.transform(shuffled.iterator, None)) == texts(sorted.toArray))
    }
    assert(texts(SortedRows.of(Nil, columns).transform(sorted.toArray)).map(_._1).mkString == "aaabbb")
  }

  test("what is handed to Spark's broadcast is an array of rows, empty or not") {
    assert(SortedRows.of(Nil, columns).transform(Iterator.empty, Some(0L)).isInstanceOf[Array[InternalRow]])
    assert(SortedRows.of(Nil, columns).transform(Array(row("a", 1, 1))).isInstanceOf[Array[InternalRow]])
    assert(SortedRows.of(
      Nil,
      columns
    ).transform(Array(row("b", 1, 1), row("a", 1, 1))).isInstanceOf[Array[InternalRow]])
  }
}
