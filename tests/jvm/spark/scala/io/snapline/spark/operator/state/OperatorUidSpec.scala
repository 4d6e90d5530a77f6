package io.snapline.spark.operator.state

import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateOperatorProperties
import org.apache.spark.sql.execution.streaming.state._
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.IncompatibleState

class OperatorUidSpec extends AnyFunSuite {
  private val properties = TransformWithStateOperatorProperties("EventTime", "Update", Nil)
  private val v1 = OperatorStateMetadataV1(OperatorInfoV1(3, "op"), Array())
  private val v2 = OperatorStateMetadataV2(OperatorInfoV1(3, "op"), Array(), properties.json)

  test("Spark's own properties stay, and it reads them") {
    OperatorUid.in(v2, Some("totals")) match {
      case named: OperatorStateMetadataV2 =>
        assert(OperatorUid.of(named).contains("totals"))
        assert(TransformWithStateOperatorProperties.fromJson(named.operatorPropertiesJson) == properties)
      case other => fail(other.toString)
    }
  }

  test("without a name, or a place for one, nothing changes") {
    assert(OperatorUid.in(v2, None) eq v2)
    assert(OperatorUid.in(v1, Some("totals")) eq v1)
    for (metadata <- Seq(v1, v2, v2.copy(operatorPropertiesJson = ""))) assert(OperatorUid.of(metadata).isEmpty)
  }

  test("another name is another operator; a name may be given later, or taken back") {
    val (a, b) = (OperatorUid.in(v2, Some("a")), OperatorUid.in(v2, Some("b")))
    val refused = intercept[IncompatibleState](OperatorUid.check(a, b))
    assert(refused.found.contains("uid 'b'") && refused.found.contains("that of 'a'"))
    Seq(a -> a, v2 -> a, a -> v2, v2 -> v2, v1 -> a).foreach { case (before, now) => OperatorUid.check(before, now) }
  }
}
