package io.snapline.state.timeindex

import java.util.Arrays

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** The sort beside one that compares keys. */
class KeySortSpec extends AnyFunSuite {
  private val random = new Random(5)

  private def check(keys: Array[Array[Byte]]): Unit = {
    val expected = keys.map(_.toVector).distinct.map(_.toArray)
    Arrays.sort(expected, (a: Array[Byte], b: Array[Byte]) => Arrays.compareUnsigned(a, b))
    val found = KeySort.distinct(keys.clone)
    assert(found.map(_.toVector).toSeq == expected.map(_.toVector).toSeq)
  }

  private def bytes(length: Int, values: Int = 256): Array[Byte] = Array.fill(length)(random.nextInt(values).toByte)

  test("no key, one, and the same one many times") {
    check(Array.empty)
    check(Array(bytes(3)))
    check(Array.fill(1000)(Array[Byte](1, 2, 3)))
    check(Array.fill(1000)(Array.emptyByteArray))
  }

  test("keys of one length, with much and little in common") {
    for (count <- Seq(10, 30, 1000, 20000); length <- Seq(1, 7, 8, 9, 30); values <- Seq(2, 256)) {
      check(Array.fill(count)(bytes(length, values)))
    }
  }

  test("keys of any length, of which some begin as others end") {
    for (values <- Seq(1, 2, 256)) check(Array.fill(5000)(bytes(random.nextInt(20), values)))
  }

  test("keys as states have them: a group, a version, zeros, and a number with its least byte first") {
    check(Array.fill(20000) {
      val number = random.nextInt(3000).toLong
      val rest = java.nio.ByteBuffer.allocate(16).order(java.nio.ByteOrder.LITTLE_ENDIAN).putLong(0).putLong(number)
      Array[Byte](0, (number % 7).toByte, 0) ++ rest.array
    })
  }
}
