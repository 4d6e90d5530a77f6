package io.snapline.state

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class RangesSpec extends AnyFunSuite with ScalaCheckPropertyChecks {
  private val byte = Gen.frequency(3 -> Gen.oneOf(0, 1, -1, -2, 127, -128), 1 -> Gen.choose(-128, 127)).map(_.toByte)
  private val key = Gen.choose(0, 5).flatMap(Gen.listOfN(_, byte)).map(_.toArray)

  private def compare(a: Array[Byte], b: Array[Byte]): Int = java.util.Arrays.compareUnsigned(a, b)

  test("a key has the prefix if and only if it lies from the prefix up to what comes after it") {
    forAll(key, key, minSuccessful(3000)) { (prefix, key) =>
      val after = Ranges.afterPrefix(prefix)
      val inside = compare(key, prefix) >= 0 && (after == null || compare(key, after) < 0)
      assert(inside == key.startsWith(prefix))
    }
  }

  test("nothing comes after a prefix of highest bytes") {
    assert(Ranges.afterPrefix(Array.emptyByteArray) == null)
    assert(Ranges.afterPrefix(Array[Byte](-1, -1)) == null)
    assert(Ranges.afterPrefix(Array[Byte](1, -1, -1)).sameElements(Array[Byte](2)))
    assert(Ranges.afterPrefix(Array[Byte](127)).sameElements(Array[Byte](-128)))
  }

  test("a slice is within a range in unsigned order") {
    forAll(key, key, key, minSuccessful(2000)) { (from, until, key) =>
      val padded = Array[Byte](9) ++ key ++ Array[Byte](9)
      assert(
        Ranges.within(padded, 1, key.length, from, until) == (compare(key, from) >= 0 && compare(key, until) < 0)
      )
    }
  }
}
