package io.snapline.snapshot.store

import org.scalatest.funsuite.AnyFunSuite

class SnapshotPolicySpec extends AnyFunSuite {
  private val policy = SnapshotPolicy(minChangelogs = 10, maxChangelogs = 100, sizeRatio = 0.5, smallState = 4L << 20)
  private val large = 1L << 30

  test("never before the fewest changelogs") {
    assert(!policy.due(9, large, large))
    assert(!policy.due(9, 0, 0))
    assert(policy.due(10, large, large))
  }

  test("a small state gets one at once") {
    assert(policy.due(10, 1, 0))
    assert(policy.due(10, 1 << 20, 2L << 20))
    assert(!policy.due(10, 1 << 20, 3L << 20))
  }

  test("a large one when changelogs are half of it, or a hundred") {
    assert(!policy.due(99, large / 2 - 1, large))
    assert(policy.due(11, large / 2, large))
    assert(policy.due(100, 1, large))
  }

  test("the fewest count even where they are more than the most") {
    val wide = policy.copy(minChangelogs = 200)
    assert(!wide.due(150, large, large))
    assert(!wide.due(199, 1, large))
    assert(wide.due(200, 1, large))
  }
}
