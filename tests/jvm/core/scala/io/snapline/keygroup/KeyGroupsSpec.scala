package io.snapline.keygroup

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class KeyGroupsSpec extends AnyFunSuite with ScalaCheckPropertyChecks {
  private val hashes = Gen.chooseNum(Int.MinValue, Int.MaxValue, 0, -1, 1, Int.MinValue, Int.MaxValue)
  private val parallelisms = Gen.chooseNum(1, KeyGroups.MaxMaxParallelism, KeyGroups.DefaultMaxParallelism, 1, 65535)

  test("a group is a number from 0 to maxParallelism - 1") {
    forAll(hashes, parallelisms) { (hash, max) =>
      val group = KeyGroups.group(hash, max)
      assert(group >= 0 && group < max)
    }
  }

  test("a group lies in the partition its keys are shuffled to, where partitions divide maxParallelism") {
    forAll(hashes, Gen.oneOf(1, 2, 3, 4, 5, 8, 10, 12, 24, 48, 96, 150, 200, 256)) { (hash, partitions) =>
      val max = KeyGroups.DefaultMaxParallelism
      assert(max % partitions == 0)
      assert(KeyGroups.group(hash, max) % partitions == Math.floorMod(hash, partitions))
    }
  }

  test("a prefix reads back, and prefixes sort as groups do") {
    forAll(Gen.choose(0, 65535), Gen.choose(0, 65535)) { (a, b) =>
      val (left, right) = (new Array[Byte](4), new Array[Byte](4))
      KeyGroups.write(a, left, 1)
      KeyGroups.write(b, right, 1)
      assert(KeyGroups.read(left, 1) == a)
      assert(Integer.signum(java.util.Arrays.compareUnsigned(left, right)) == Integer.signum(Integer.compare(a, b)))
    }
  }

  test("the partitions of a store share out all groups among them") {
    for ((partitions, max) <- Seq((1, 7), (5, 25), (48, 57600), (200, 57600))) {
      val all = (0 until partitions).flatMap(PartitionGroups(_, partitions, max).iterator)
      assert(all.sorted == (0 until max))
      assert(PartitionGroups(0, partitions, max).whole)
    }
    val groups = PartitionGroups(3, 5, 25)
    assert(groups.iterator.forall(groups.contains) && !groups.contains(4) && !groups.contains(28) &&
      !groups.contains(-2))
    assert(!PartitionGroups(0, 7, 25).whole)
    Seq((5, 5), (-1, 5), (0, 0)).foreach { case (partition, of) =>
      intercept[IllegalArgumentException](PartitionGroups(partition, of, 25))
    }
  }
}
