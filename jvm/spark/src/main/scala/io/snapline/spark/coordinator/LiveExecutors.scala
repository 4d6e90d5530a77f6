package io.snapline.spark.coordinator

import org.apache.spark.scheduler.{SparkListener, SparkListenerExecutorAdded, SparkListenerExecutorRemoved}

/** The executors that the application has now. Spark tells it on a thread of its own. */
private[spark] final class LiveExecutors extends SparkListener {
  import LiveExecutors._

  @volatile private var seen = new Seen(Map.empty)

  def current: Seen = seen

  override def onExecutorAdded(event: SparkListenerExecutorAdded): Unit =
    change(_ + (event.executorId -> Executor(event.executorInfo.executorHost, event.executorInfo.totalCores)))

  override def onExecutorRemoved(event: SparkListenerExecutorRemoved): Unit = change(_ - event.executorId)

  private def change(to: Map[String, Executor] => Map[String, Executor]): Unit = synchronized {
    seen = new Seen(to(seen.executors))
  }
}

private[spark] object LiveExecutors {
  final case class Executor(host: String, cores: Int)

  /** Another object whenever an executor came or went. */
  final class Seen(val executors: Map[String, Executor])
}
