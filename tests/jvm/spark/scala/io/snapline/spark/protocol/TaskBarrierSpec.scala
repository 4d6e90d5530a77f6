package io.snapline.spark.protocol

import java.util.UUID

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.InternalError

class TaskBarrierSpec extends AnyFunSuite {
  private val alignments = Seq(
    Alignment.Aligned,
    Alignment.Repeated(committed = true),
    Alignment.Repeated(committed = false),
    Alignment.Unaligned(1000, ChannelLimits(1L << 40, Long.MaxValue, 7, fails = true))
  )

  test("what the driver decided arrives as it was, whatever the path") {
    val run = UUID.randomUUID()
    for {
      replays <- Seq(true, false)
      interval <- Seq(true, false)
      covered <- Seq(None, Some(0L), Some(7L))
      checkpoint <- Seq(None, Some(1L), Some(Long.MaxValue))
      (owed, ahead) <- Seq((None, Set.empty[Long]), (Some(3L), Set(0L)), (Some(Long.MaxValue), Set(0L, 7L)))
      merged <- Seq(true, false)
      awaited <- Seq(None, Some(8L))
      restore <- Seq(None, Some(RestoreFrom("file:/a b/c|d/snapline/chk-3/_metadata", 7)))
      alignment <- alignments
    } {
      val barrier =
        TaskBarrier(run, replays, interval, covered, checkpoint, owed, ahead, awaited, restore, merged, alignment)
      assert(TaskBarrier.parse(barrier.text) == barrier)
    }
  }

  test("outside of a task there is none") {
    assert(TaskBarrier.ofTask(UUID.randomUUID()).isEmpty)
  }

  test("what is none is a bug, and says so") {
    Seq("x", "{}", """{"run":"x"}""").foreach(text => assertThrows[InternalError](TaskBarrier.parse(text)))
  }
}
