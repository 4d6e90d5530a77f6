package io.snapline.spark.operator.state

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

class SchemaChangeSpec extends AnyFunSuite {

  private def problems(old: String, now: String): Seq[String] =
    SchemaChange.problems(StructType.fromDDL(old), StructType.fromDDL(now), "s")

  test("what loses nothing is allowed") {
    for (
      (old, now) <- Seq(
        "a int" -> "a int",
        "a int, b string" -> "b string, a bigint, c double",
        "a int, b string" -> "a int",
        "a tinyint" -> "a smallint",
        "a float" -> "a double",
        "a int" -> "a double",
        "a int" -> "a decimal(10,0)",
        "a decimal(5,2)" -> "a decimal(8,3)",
        "a array<int>" -> "a array<bigint>",
        "a map<string,struct<x:int>>" -> "a map<string,struct<x:bigint,y:string>>",
        "a struct<x:int,y:int>" -> "a struct<y:int>"
      )
    ) assert(problems(old, now).isEmpty, s"$old -> $now")
  }

  test("what may lose something is named, with the field and both types") {
    for (
      (old, now, said) <- Seq(
        ("a bigint", "a int", "s.a: BIGINT -> INT"),
        ("a bigint", "a double", "s.a: BIGINT -> DOUBLE"),
        ("a int", "a string", "s.a: INT -> STRING"),
        ("a int", "a int, b int not null", "s.b: is new and NOT NULL"),
        ("a int", "b int", "keeps no field"),
        ("a struct<x:bigint>", "a struct<x:int>", "s.a.x: BIGINT -> INT"),
        ("a array<string>", "a array<int>", "s.a.element: STRING -> INT"),
        ("a map<int,int>", "a map<bigint,int>", "s.a: MAP<INT, INT> -> MAP<BIGINT, INT>"),
        ("a decimal(5,2)", "a decimal(5,3)", "s.a: DECIMAL(5,2) -> DECIMAL(5,3)")
      )
    ) assert(problems(old, now).exists(_.contains(said)), s"$old -> $now: ${problems(old, now)}")
  }

  test("values are carried over, at every depth") {
    val old =
      StructType.fromDDL("a int, n struct<x:int,y:string>, l array<struct<p:int>>, m map<string,float>, gone string")
    val now =
      StructType.fromDDL("m map<string,double>, l array<struct<q:string,p:bigint>>, n struct<y:string,z:int>, a bigint")
    def text(s: String) = UTF8String.fromString(s)
    val row = UnsafeProjection.create(old)(
      InternalRow(
        7,
        InternalRow(1, text("why")),
        new GenericArrayData(Array[Any](InternalRow(5), null)),
        ArrayBasedMapData(Array[Any](text("k")), Array[Any](1.5f)),
        text("gone")
      )
    )
    val changed = SchemaChange.projection(old, now)(row)
    assert(changed.getLong(3) == 7)
    assert(changed.getStruct(2, 2).getUTF8String(0) == text("why") && changed.getStruct(2, 2).isNullAt(1))
    val list = changed.getArray(1)
    assert(list.numElements() == 2 && list.isNullAt(1))
    assert(list.getStruct(0, 2).isNullAt(0) && list.getStruct(0, 2).getLong(1) == 5)
    assert(changed.getMap(0).valueArray().getDouble(0) == 1.5)
    val nulls =
      SchemaChange.projection(old, now)(UnsafeProjection.create(old)(InternalRow(null, null, null, null, null)))
    assert((0 until 4).forall(nulls.isNullAt))
  }
}
