package io.snapline.spark.coordinator

import java.util.concurrent.TimeUnit.MILLISECONDS

import org.scalatest.funsuite.AnyFunSuite

class BatchWatchSpec extends AnyFunSuite {
  private def looks(batchRuns: Boolean, times: Long*): Seq[Long] = {
    val watch = new BatchWatch
    times.filter(ms => watch.isDue(batchRuns, MILLISECONDS.toNanos(ms)))
  }

  test("while a batch runs, once a second") {
    assert(looks(batchRuns = true, 0L to 5000L by 100L: _*) == (0L to 5000L by 1000L))
  }

  test("between batches never") {
    assert(looks(batchRuns = false, 0L to 5000L by 100L: _*).isEmpty)
  }

  test("at once after a pause, whether or not a batch runs") {
    assert(looks(batchRuns = false, 0, 100, 5100, 5200, 9000) == Seq(5100, 9000))
  }

  test("a batch that has just begun was looked at when it was planned") {
    val watch = new BatchWatch
    assert(!watch.isDue(batchRuns = false, 0))
    assert(!watch.isDue(batchRuns = true, MILLISECONDS.toNanos(100)))
  }
}
