package io.snapline.spark.savepoint

import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types._
import org.json4s.jackson.JsonMethods
import org.scalatest.funsuite.AnyFunSuite

class OperatorLayoutSpec extends AnyFunSuite {
  private val key = new StructType().add("a", LongType).add("b", StringType)

  test("comes back from JSON as it was") {
    val specs = Seq(
      NoPrefixKeyStateEncoderSpec(key) -> Placement.Hashed(Seq(Seq(0), Seq(1, 0))),
      PrefixKeyScanStateEncoderSpec(key, 1) -> Placement.First,
      RangeKeyScanStateEncoderSpec(key, Seq(0)) -> Placement.Every,
      NoPrefixKeyStateEncoderSpec(key) -> Placement.Fixed("why")
    )
    val families = specs.zipWithIndex.map { case ((spec, placement), i) =>
      FamilyLayout(s"f$i", key, new StructType().add("v", NullType), spec.json, i % 2 == 0, placement, i == 3)
    }
    val operator =
      OperatorLayout(
        2,
        "op",
        Some("totals"),
        5,
        Seq("state/2/_stateSchema/default/0_x"),
        Seq(StoreLayout("default", families))
      )
    val text = JsonMethods.compact(JsonMethods.parse(OperatorLayout.toJson(Seq(operator))).children.head)
    assert(OperatorLayout.fromJson(text) == operator)
    assert(OperatorLayout.fromJson(text).stores.head.families.map(_.spec) == specs.map(_._1))
  }
}
