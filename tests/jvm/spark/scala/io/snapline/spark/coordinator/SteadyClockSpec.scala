package io.snapline.spark.coordinator

import java.util.concurrent.TimeUnit.{HOURS, MILLISECONDS}

import org.scalatest.funsuite.AnyFunSuite

class SteadyClockSpec extends AnyFunSuite {
  test("a clock that is set moves no time") {
    var wall = 1700000000000L
    var counter = -5L
    val clock = new SteadyClock(() => wall, () => counter)
    assert(clock.nowMs == wall)
    wall -= HOURS.toMillis(1)
    counter += MILLISECONDS.toNanos(1500)
    assert(clock.nowMs == 1700000001500L)
    wall += HOURS.toMillis(2)
    assert(clock.nowMs == 1700000001500L)
  }
}
