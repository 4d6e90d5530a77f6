package io.snapline.checkpoint

import io.snapline.error.InvalidConfiguration

/** How often checkpoints are taken, and what may go wrong with them. Defaults are Flink's, but for `retention`: a Spark
  * query is stopped and started again on its checkpoint folder all the time. The files it needs for that stay, unless
  * the user says otherwise.
  *
  * @param intervalMs
  *   between two triggers; None: at every barrier
  * @param timeoutMs
  *   from the end of the checkpoint's batch to its last acknowledgement
  * @param minPauseMs
  *   from the completion of one to the trigger of the next
  * @param tolerableFailures
  *   failed checkpoints in a row that the query survives
  * @param retained
  *   completed checkpoints kept, savepoints not counted
  */
final case class CoordinatorSettings(
    intervalMs: Option[Long] = None,
    timeoutMs: Long = 600000,
    minPauseMs: Long = 0,
    maxConcurrent: Int = 1,
    tolerableFailures: Int = 0,
    retained: Int = 1,
    retention: RetentionPolicy = RetentionPolicy.RetainOnCancellation,
    mode: CheckpointingMode = CheckpointingMode.ExactlyOnce
) {
  import CoordinatorSettings._

  intervalMs.foreach(ms => check("interval", s"${ms}ms", ms >= ShortestMs, s"at least ${ShortestMs}ms"))
  check("timeout", s"${timeoutMs}ms", timeoutMs >= ShortestMs, s"at least ${ShortestMs}ms")
  check("min-pause", s"${minPauseMs}ms", minPauseMs >= 0 && minPauseMs <= LongestMs, s"0 to ${LongestMs}ms")
  check("max-concurrent-checkpoints", maxConcurrent, maxConcurrent >= 1, "1 or more")
  check("tolerable-failed-checkpoints", tolerableFailures, tolerableFailures >= 0, "0 or more")
  check("num-retained", retained, retained >= 1, "1 or more")

  /** A pause in which nothing is in progress leaves room for one. */
  def concurrent: Int = if (minPauseMs > 0) 1 else maxConcurrent
}

object CoordinatorSettings {
  val Prefix = "spark.snapline.execution.checkpointing."
  val RetentionKey: String = Prefix + "externalized-checkpoint-retention"

  /** Flink's: below it a checkpoint costs more than what it saves. */
  private val ShortestMs = 10L
  private val LongestMs = 365L * 24 * 60 * 60 * 1000

  private def check(key: String, value: Any, holds: Boolean, range: String): Unit =
    if (!holds) throw new InvalidConfiguration(s"$Prefix$key is $value.", s"set it to $range.")
}

/** The promise of a recovery from a checkpoint. */
sealed abstract class CheckpointingMode(val name: String)

object CheckpointingMode {

  /** State is as if each row had been counted once. */
  case object ExactlyOnce extends CheckpointingMode("EXACTLY_ONCE")

  /** A store need not keep to its checkpoint's barrier: its snapshot may hold rows of later batches, which a replay
    * then counts again.
    */
  case object AtLeastOnce extends CheckpointingMode("AT_LEAST_ONCE")

  val all: Seq[CheckpointingMode] = Seq(ExactlyOnce, AtLeastOnce)

  def named(name: String): CheckpointingMode = all.find(_.name == name).getOrElse(throw new InvalidConfiguration(
    s"${CoordinatorSettings.Prefix}mode is $name.",
    s"set it to one of ${all.map(_.name).mkString(", ")}."
  ))
}
