package io.snapline.spark.savepoint

import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.IncompatibleState

class StateColumnsSpec extends AnyFunSuite {

  private def columns(schema: StructType): String = StateColumns.struct(schema, "here").catalogString

  test("names are unique, in whatever case") {
    val schema =
      new StructType().add("sum", LongType).add("SUM", LongType).add("sum_2", LongType).add("sum", IntegerType)
    assert(columns(schema) == "struct<sum:bigint,SUM_2:bigint,sum_2_2:bigint,sum_3:int>")
  }

  test("what Parquet lacks has a stand-in of the same layout") {
    val inner = new StructType().add("n", NullType).add("n", ArrayType(NullType))
    assert(columns(new StructType().add("s", inner)) == "struct<s:struct<n:boolean,n_2:array<boolean>>>")
    assert(columns(new StructType()) == "struct<nothing:boolean>")
  }

  test("what has none is refused by name") {
    for (
      dataType <- Seq(CalendarIntervalType, ArrayType(CalendarIntervalType), MapType(StringType, new StructType()))
    ) {
      val error = intercept[IncompatibleState](columns(new StructType().add("x", dataType)))
      assert(error.found.contains("here"))
    }
  }

  test("a state has four columns, lists an array of values") {
    val family = FamilyLayout(
      "l",
      new StructType().add("k", LongType),
      new StructType().add("v", LongType),
      "{}",
      true,
      Placement.First
    )
    val operator = OperatorLayout(3, "op", None, 2, Nil, Seq(StoreLayout("default", Seq(family))))
    assert(StateColumns.of(operator, family).catalogString ==
      "struct<partition:int,key_group:int,key:struct<k:bigint>,value:array<struct<v:bigint>>>")
  }
}
