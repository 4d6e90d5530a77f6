package io.snapline.spark.protocol

import io.snapline.error.{FunctionNotDeterministic, StorageFailure}

/** The sums of a partition's broadcast states in a micro-batch.
  *
  * @param run
  *   run id of the query
  * @param version
  *   the version that the micro-batch makes
  * @param sums
  *   number and checksum of the entries, by state
  */
final case class BroadcastReport(
    run: String,
    operator: Long,
    version: Long,
    partition: Int,
    sums: Seq[(String, Long, Long)]
)

/** On executors: has the driver compare a partition's broadcast states with those of the others, before they are
  * committed.
  */
object BroadcastChecks {

  def check(report: BroadcastReport, function: String): Unit = {
    val difference = ask(report)
    if (difference.nonEmpty) {
      throw new FunctionNotDeterministic(
        s"After micro-batch ${report.version} broadcast state of $function is not equal on all partitions: $difference.",
        "let process_broadcast_element depend on nothing but its rows and the broadcast state (no clock, no random numbers, no partition number, no keyed state), and start the query again: nothing of the micro-batch was committed."
      )
    }
  }

  private def ask(report: BroadcastReport): String = {
    val answer = ExecutorLink.ask(report, "Broadcast state cannot be checked") { (attempts, e) =>
      new StorageFailure(
        s"The driver did not compare the broadcast states of partition ${report.partition} in $attempts attempts: ${e.getMessage}.",
        "see to the network; Spark tries the task again.",
        e
      )
    }
    answer.asInstanceOf[String]
  }
}
