package io.snapline.spark.plugin

import java.util.UUID

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.InternalError

class TaskBarrierSpec extends AnyFunSuite {
  test("what the driver decided arrives as it was, whatever the path") {
    val run = UUID.randomUUID()
    for {
      interval <- Seq(true, false)
      checkpoint <- Seq(None, Some(1L), Some(Long.MaxValue))
      merged <- Seq(true, false)
      restore <- Seq(None, Some("file:/a b/c|d/snapline/chk-3/_metadata"))
    } {
      val barrier = TaskBarrier(run, interval, checkpoint, restore, merged)
      assert(TaskBarrier.parse(barrier.text) == barrier)
    }
  }

  test("outside of a task there is none") {
    assert(TaskBarrier.ofTask(UUID.randomUUID()).isEmpty)
  }

  test("what is none is a bug, and says so") {
    assertThrows[InternalError](TaskBarrier.parse("x"))
  }
}
