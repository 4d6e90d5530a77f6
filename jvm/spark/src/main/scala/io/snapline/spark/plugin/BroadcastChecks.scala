package io.snapline.spark.plugin

import scala.util.control.NonFatal

import io.snapline.error.{FunctionNotDeterministic, InvalidConfiguration, StorageFailure}

/** On executors: has the driver compare a partition's broadcast states with those of the others, before they are committed. */
object BroadcastChecks {
  private val Attempts = 3
  private val FirstPauseMs = 200L

  def check(report: BroadcastReport, function: String): Unit = {
    val difference = ask(report, 1)
    if (difference.nonEmpty) {
      throw new FunctionNotDeterministic(
        s"After micro-batch ${report.version} broadcast state of $function is not equal on all partitions: $difference.",
        "let process_broadcast_element depend on nothing but its rows and the broadcast state (no clock, no random numbers, no partition number, no keyed state), and start the query again: nothing of the micro-batch was committed."
      )
    }
  }

  private def ask(report: BroadcastReport, attempt: Int): String = {
    val to = ExecutorLink.plugin.getOrElse(throw new InvalidConfiguration(
      "Broadcast state cannot be checked: spark.plugins does not name io.snapline.spark.plugin.SnaplinePlugin, or Spark is ending.",
      "make the session with snapline.configure(), or add the class to spark.plugins before Spark starts."
    ))
    try to.ask(report).asInstanceOf[String]
    catch {
      case e: InterruptedException => throw e
      case NonFatal(_) if attempt < Attempts =>
        Thread.sleep(FirstPauseMs << attempt)
        ask(report, attempt + 1)
      case NonFatal(e) =>
        throw new StorageFailure(
          s"The driver did not compare the broadcast states of partition ${report.partition} in $Attempts attempts: ${e.getMessage}.",
          "see to the network; Spark tries the task again.",
          e
        )
    }
  }
}
