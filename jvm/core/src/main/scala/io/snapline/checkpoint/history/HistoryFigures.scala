package io.snapline.checkpoint.history

import com.fasterxml.jackson.databind.node.ObjectNode

/** The checkpoint a run began with. */
final case class RestoredCheckpoint(id: Long, atMs: Long, savepoint: Boolean)

/** The figures of all checkpoints of a query. The one place that knows the members of Flink's REST interface for it. */
trait HistoryFigures {
  def total: Long
  def completed: Long
  def failed: Long
  def restored: Long

  /** A summary over all completed checkpoints. */
  def checkpointedSize: Summary
  def stateSize: Summary
  def duration: Summary
  def inFlightSize: Summary

  def latestCompleted: Option[CheckpointFigures]
  def latestSavepoint: Option[CheckpointFigures]
  def latestFailed: Option[CheckpointFigures]
  def latestRestored: Option[RestoredCheckpoint]

  def inProgress: Long = total - completed - failed

  /** @param known
    *   those that percentiles are taken of
    * @param history
    *   those that are listed, the newest first
    */
  def putInto(json: ObjectNode, known: Seq[CheckpointFigures], history: Seq[CheckpointFigures]): Unit = {
    json.putObject("counts").put("restored", restored).put("total", total).put("in_progress", inProgress)
      .put("completed", completed).put("failed", failed)
    val summary = json.putObject("summary")
    val succeeded = known.filter(_.hasCompleted)
    putSummary(summary.putObject("checkpointed_size"), checkpointedSize, succeeded.map(_.checkpointedSize))
    putSummary(summary.putObject("state_size"), stateSize, succeeded.map(_.stateSize))
    putSummary(summary.putObject("end_to_end_duration"), duration, succeeded.map(_.duration))
    putSummary(summary.putObject("persisted_data"), inFlightSize, succeeded.map(_.inFlightSize))
    putLatest(json.putObject("latest"))
    val array = json.putArray("history")
    history.foreach(_.putInto(array.addObject()))
  }

  private def putSummary(json: ObjectNode, summary: Summary, values: Seq[Long]): Unit = {
    json.put("min", summary.min).put("max", summary.max).put("avg", summary.avg)
    Percentiles(values).named.foreach { case (name, value) => json.put(name, value) }
  }

  private def putLatest(json: ObjectNode): Unit = {
    def put(name: String, checkpoint: Option[CheckpointFigures]): Unit = checkpoint match {
      case Some(figures) => figures.putInto(json.putObject(name))
      case None => json.putNull(name): Unit
    }
    put("completed", latestCompleted)
    put("savepoint", latestSavepoint)
    put("failed", latestFailed)
    latestRestored match {
      case Some(RestoredCheckpoint(id, atMs, savepoint)) =>
        json.putObject("restored").put("id", id).put("restore_timestamp", atMs).put("is_savepoint", savepoint)
      case None => json.putNull("restored")
    }
  }
}

/** Least, greatest and mean of a figure over completed checkpoints. */
final case class Summary(count: Long = 0, min: Long = 0, max: Long = 0, sum: Long = 0) {
  def add(value: Long): Summary =
    if (count == 0) Summary(1, value, value, value)
    else Summary(count + 1, math.min(min, value), math.max(max, value), sum + value)

  def avg: Long = if (count == 0) 0 else sum / count
}

/** Percentiles of some values: the smallest value that the given share of all does not exceed. Without values all are
  * zero.
  */
final class Percentiles private (sorted: Array[Long]) {
  def apply(share: Double): Long =
    if (sorted.isEmpty) 0 else sorted(math.max(0, math.ceil(share * sorted.length).toInt - 1))

  def named: Seq[(String, Long)] = Percentiles.Shares.map { case (name, share) => name -> apply(share) }
}

object Percentiles {

  /** The percentiles that Flink shows, under its names. */
  val Shares: Seq[(String, Double)] = Seq("p50" -> 0.5, "p90" -> 0.9, "p95" -> 0.95, "p99" -> 0.99, "p999" -> 0.999)

  def apply(values: Seq[Long]): Percentiles = {
    val sorted = values.toArray
    java.util.Arrays.sort(sorted)
    new Percentiles(sorted)
  }
}
