package org.apache.spark.sql.execution.python.snapline

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.spark.LocalSpark

class SubtaskRowsSpec extends AnyFunSuite {

  private def placed(spark: SparkSession, inputs: Int, count: Int): Seq[Seq[Int]] = {
    val rows = spark.sparkContext.parallelize(0 until inputs * 2, math.max(inputs, 1)).map(InternalRow(_): InternalRow)
    val input = if (inputs == 0) spark.sparkContext.emptyRDD[InternalRow] else rows
    val found = SubtaskRows.of(input, count)
    assert(found.getNumPartitions == count)
    found.map(_.getInt(0)).mapPartitions(part => Iterator(part.toSeq)).collect().toSeq
  }

  test(
    "partition i of the input belongs to partition i mod n, in order; where there is no input there are partitions all the same"
  ) {
    LocalSpark() { spark =>
      assert(placed(spark, 5, 2) == Seq(Seq(0, 1, 4, 5, 8, 9), Seq(2, 3, 6, 7)))
      assert(placed(spark, 2, 3) == Seq(Seq(0, 1), Seq(2, 3), Nil))
      assert(placed(spark, 3, 3) == Seq(Seq(0, 1), Seq(2, 3), Seq(4, 5)))
      assert(placed(spark, 0, 2) == Seq(Nil, Nil))
    }
  }
}
