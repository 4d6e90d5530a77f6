package io.snapline.spark.sink

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.IncompatibleState

class MarkerSpec extends AnyFunSuite {
  test("a marker is read as it was written") {
    Seq(Marker(0, 1, 1, 0), Marker(Long.MaxValue, 2000, 1L << 40, -1L)).foreach { marker =>
      assert(Marker.parse(marker.json) == marker)
    }
  }

  test("the text on disk stays as it is") {
    assert(Marker(3, 2, 10, -2).json == """{"batch":3,"partitions":2,"rows":10,"digest":"fffffffffffffffe"}""")
  }

  test("another text is refused") {
    Seq("", "{}", "batch", """{"batch":"3"}""").foreach { text =>
      assertThrows[IncompatibleState](Marker.parse(text))
    }
  }
}
