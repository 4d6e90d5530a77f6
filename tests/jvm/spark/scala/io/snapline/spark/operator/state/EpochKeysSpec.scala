package io.snapline.spark.operator.state

import scala.collection.mutable
import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.types.{DataType, LongType, StringType}
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

class EpochKeysSpec extends AnyFunSuite {
  private val projection = UnsafeProjection.create(Array[DataType](LongType, StringType))

  private def row(n: Int) = projection(InternalRow(n.toLong % 7, UTF8String.fromString(s"key $n")))

  test("rows are numbered in order of first sight, through growth and after an epoch of any size") {
    val random = new Random(1)
    val keys = new EpochKeys
    for (most <- Seq(10, 200000, 300)) {
      val model = mutable.LinkedHashMap.empty[Int, Int]
      (0 until most).foreach { _ =>
        val n = random.nextInt(most)
        assert(keys.slotOf(row(n)) == model.getOrElseUpdate(n, model.size))
      }
      assert(keys.size == model.size)
      model.foreach { case (n, slot) => assert(keys(slot) == row(n)) }
      keys.clear()
      assert(keys.size == 0)
    }
  }
}
