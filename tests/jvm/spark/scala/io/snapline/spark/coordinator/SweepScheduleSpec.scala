package io.snapline.spark.coordinator

import org.scalatest.funsuite.AnyFunSuite

class SweepScheduleSpec extends AnyFunSuite {
  test("after the first checkpoint of a run, and when the runs before have none left") {
    val sweeps = new SweepSchedule
    sweeps.begun(7, 0)
    assert(Seq(6L, 7L, 8L, 9L).map(sweeps.isDue(_, 1)) == Seq(true, false, true, false))
  }

  test("once if the first checkpoint leaves none of the runs before") {
    val sweeps = new SweepSchedule
    sweeps.begun(7, 0)
    assert(Seq(8L, 9L).map(sweeps.isDue(_, 1)) == Seq(true, false))
  }

  test("each run anew") {
    val sweeps = new SweepSchedule
    sweeps.begun(0, 0)
    assert(Seq(1L, 1L, 2L).map(sweeps.isDue(_, 1)) == Seq(true, false, false))
    sweeps.begun(3, 0)
    assert(Seq(2L, 3L, 4L).map(sweeps.isDue(_, 1)) == Seq(true, false, true))
  }

  test("once a day from then on, whatever it finds") {
    val (sweeps, day) = (new SweepSchedule, SweepSchedule.EveryMs)
    sweeps.begun(7, 100)
    assert(Seq(8L -> 100L, 9L -> day, 9L -> (day + 200)).map { case (oldest, at) => sweeps.isDue(oldest, at) } ==
      Seq(true, false, true))
    assert(Seq(day + 300, 2 * day + 199, 2 * day + 200).map(sweeps.isDue(10, _)) == Seq(false, false, true))
  }
}
