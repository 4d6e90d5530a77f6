package io.snapline.checkpoint

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.InvalidConfiguration

class CoordinatorSettingsSpec extends AnyFunSuite {

  test("defaults are Flink's, but for what outlives the query") {
    val s = CoordinatorSettings()
    assert(s.intervalMs.isEmpty && s.timeoutMs == 600000 && s.minPauseMs == 0 && s.maxConcurrent == 1)
    assert(s.tolerableFailures == 0 && s.retained == 1 && s.retention == RetentionPolicy.RetainOnCancellation)
  }

  test("a value out of its range is named with its key and its range") {
    def refused(key: String)(settings: => CoordinatorSettings): Unit = {
      val error = intercept[InvalidConfiguration](settings)
      assert(error.found.startsWith(s"spark.snapline.execution.checkpointing.$key is "), error.found)
      assert(error.action.startsWith("set it to "))
    }
    refused("interval")(CoordinatorSettings(intervalMs = Some(9)))
    refused("timeout")(CoordinatorSettings(timeoutMs = 9))
    refused("min-pause")(CoordinatorSettings(minPauseMs = -1))
    refused("min-pause")(CoordinatorSettings(minPauseMs = Long.MaxValue))
    refused("max-concurrent-checkpoints")(CoordinatorSettings(maxConcurrent = 0))
    refused("tolerable-failed-checkpoints")(CoordinatorSettings(tolerableFailures = -1))
    refused("num-retained")(CoordinatorSettings(retained = 0))
    CoordinatorSettings(Some(10), 10, 0, 1, 0, 1)
    CoordinatorSettings(Some(Long.MaxValue), Long.MaxValue, 1, Int.MaxValue, Int.MaxValue, Int.MaxValue)
  }

  test("a pause leaves room for one checkpoint") {
    assert(CoordinatorSettings(maxConcurrent = 5).concurrent == 5)
    assert(CoordinatorSettings(maxConcurrent = 5, minPauseMs = 1).concurrent == 1)
  }
}
