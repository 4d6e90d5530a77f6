package io.snapline.spark.coordinator

import org.apache.spark.scheduler.{SparkListenerExecutorAdded, SparkListenerExecutorRemoved}
import org.apache.spark.scheduler.cluster.ExecutorInfo
import org.scalatest.funsuite.AnyFunSuite

class LiveExecutorsSpec extends AnyFunSuite {
  private def info(host: String, cores: Int) = new ExecutorInfo(host, cores, Map.empty)

  test("those that came and have not gone") {
    val executors = new LiveExecutors
    val first = executors.current
    assert(first.executors.isEmpty)
    executors.onExecutorAdded(SparkListenerExecutorAdded(1, "0", info("one", 2)))
    executors.onExecutorAdded(SparkListenerExecutorAdded(2, "1", info("other", 4)))
    val both = executors.current
    assert(both.executors == Map("0" -> LiveExecutors.Executor("one", 2), "1" -> LiveExecutors.Executor("other", 4)))
    executors.onExecutorRemoved(SparkListenerExecutorRemoved(3, "0", "killed"))
    assert(executors.current.executors.keySet == Set("1"))
    assert((both ne first) && (executors.current ne both) && (executors.current eq executors.current))
  }
}
