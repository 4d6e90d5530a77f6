package io.snapline.spark.protocol

import java.util.UUID

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.InternalError

class EvictionTextSpec extends AnyFunSuite {
  private val run = UUID.randomUUID()
  private val all = Seq(
    Eviction(0, 7, "default", "default", TimeColumn(inKey = true, 2, inWindow = true, None), 1700000000000000L),
    Eviction(
      3,
      7,
      "left-keyToNumValues",
      "left-keyWithIndexToValue",
      TimeColumn(inKey = false, 0, inWindow = false, Some(-1L)),
      -5L
    )
  )

  test("evictions come out as they went in, for their run") {
    val text = Eviction.text(run, all)
    assert(Eviction.parse(text, run) == all)
    assert(Eviction.parse(text, UUID.randomUUID()) == Nil)
  }

  test("other text is refused") {
    for (text <- Seq("", "{", "[]", s"""{"run": "$run", "evictions": [{"operator": 1}]}""")) {
      withClue(text)(intercept[InternalError](Eviction.parse(text, run)): Unit)
    }
  }
}
