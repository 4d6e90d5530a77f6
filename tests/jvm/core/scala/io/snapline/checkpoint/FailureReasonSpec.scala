package io.snapline.checkpoint

import org.scalatest.funsuite.AnyFunSuite

class FailureReasonSpec extends AnyFunSuite {

  test("what counts against the tolerable number is what counts in Flink") {
    assert(FailureReason.all.filter(_.counts).map(_.name).toSet == Set(
      "CHECKPOINT_DECLINED",
      "CHECKPOINT_ASYNC_EXCEPTION",
      "IO_EXCEPTION",
      "CHECKPOINT_EXPIRED",
      "FINALIZE_CHECKPOINT_FAILURE"
    ))
  }

  test("names and texts are there once each, and a name is read back") {
    val all = FailureReason.all
    assert(all.map(_.name).distinct.size == all.size && all.map(_.text).distinct.size == all.size)
    all.foreach(reason => assert(FailureReason.named(reason.name) == reason && reason.text.endsWith(".")))
    assert(FailureReason.named("OF_A_LATER_VERSION") == FailureReason.Declined)
  }
}
