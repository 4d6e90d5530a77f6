package io.snapline.spark.plugin

import org.scalatest.funsuite.AnyFunSuite

class SweepScheduleSpec extends AnyFunSuite {
  test("after the first checkpoint of a run, and when the runs before have none left") {
    val sweeps = new SweepSchedule
    sweeps.begun(7)
    assert(Seq(6L, 7L, 8L, 9L).map(sweeps.isDue) == Seq(true, false, true, false))
  }

  test("once if the first checkpoint leaves none of the runs before") {
    val sweeps = new SweepSchedule
    sweeps.begun(7)
    assert(Seq(8L, 9L).map(sweeps.isDue) == Seq(true, false))
  }

  test("each run anew") {
    val sweeps = new SweepSchedule
    sweeps.begun(0)
    assert(Seq(1L, 1L, 2L).map(sweeps.isDue) == Seq(true, false, false))
    sweeps.begun(3)
    assert(Seq(2L, 3L, 4L).map(sweeps.isDue) == Seq(true, false, true))
  }
}
