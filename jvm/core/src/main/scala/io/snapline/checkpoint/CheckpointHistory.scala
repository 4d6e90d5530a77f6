package io.snapline.checkpoint

import scala.collection.immutable.TreeMap

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode

/** The last checkpoints of a query and figures over all of them since this coordinator began. The coordinator's thread writes; any thread reads `snapshot`. */
final class CheckpointHistory(remembered: Int = CheckpointHistory.Remembered) {
  import CheckpointHistory.Snapshot

  @volatile private var now = Snapshot()

  def snapshot: Snapshot = now

  private[checkpoint] def triggered(p: PendingCheckpoint): Unit =
    now = remember(CheckpointStatistics(p, CheckpointStatus.InProgress)).copy(total = now.total + 1)

  private[checkpoint] def progressed(p: PendingCheckpoint): Unit =
    now = now.copy(checkpoints = now.checkpoints.updatedWith(p.id)(_.map(_.copy(checkpoint = p))))

  private[checkpoint] def completed(p: PendingCheckpoint, c: CompletedCheckpoint): Unit = {
    val statistics = CheckpointStatistics(
      p,
      CheckpointStatus.Completed,
      Some(c.completedMs),
      metadataBytes = c.metadataBytes
    )
    val before = remember(statistics)
    now = before.copy(
      completed = before.completed + 1,
      checkpointedSize = before.checkpointedSize.add(statistics.checkpointedSize),
      stateSize = before.stateSize.add(statistics.stateSize),
      duration = before.duration.add(statistics.duration),
      latestCompleted = if (p.properties.isSavepoint) before.latestCompleted else Some(statistics),
      latestSavepoint = if (p.properties.isSavepoint) Some(statistics) else before.latestSavepoint
    )
  }

  private[checkpoint] def failed(p: PendingCheckpoint, reason: FailureReason, message: String, nowMs: Long): Unit = {
    val statistics = CheckpointStatistics(p, CheckpointStatus.Failed, Some(nowMs), Some((reason, message)))
    val before = remember(statistics)
    now = before.copy(failed = before.failed + 1, latestFailed = Some(statistics))
  }

  private[checkpoint] def discarded(id: Long): Unit = {
    def mark(statistics: CheckpointStatistics): CheckpointStatistics =
      if (statistics.id == id) statistics.copy(discarded = true) else statistics
    now = now.copy(
      checkpoints = now.checkpoints.updatedWith(id)(_.map(mark)),
      latestCompleted = now.latestCompleted.map(mark)
    )
  }

  private[checkpoint] def restored(c: CompletedCheckpoint, nowMs: Long): Unit =
    now = now.copy(restored = now.restored + 1, latestRestored = Some((c.id, nowMs, c.properties.isSavepoint)))

  private def remember(statistics: CheckpointStatistics): Snapshot =
    now.copy(checkpoints = (now.checkpoints + (statistics.id -> statistics)).takeRight(remembered))
}

object CheckpointHistory {

  /** Flink keeps ten for its web page; here the history is the only place where past checkpoints are seen. */
  val Remembered = 100

  /** @param checkpoints the last ones, by number */
  final case class Snapshot(
      checkpoints: TreeMap[Long, CheckpointStatistics] = TreeMap.empty,
      total: Long = 0,
      completed: Long = 0,
      failed: Long = 0,
      restored: Long = 0,
      checkpointedSize: Summary = Summary(),
      stateSize: Summary = Summary(),
      duration: Summary = Summary(),
      latestCompleted: Option[CheckpointStatistics] = None,
      latestSavepoint: Option[CheckpointStatistics] = None,
      latestFailed: Option[CheckpointStatistics] = None,
      latestRestored: Option[(Long, Long, Boolean)] = None
  ) {
    def inProgress: Long = total - completed - failed

    /** The newest first, as in Flink. */
    def json: String = {
      val mapper = new ObjectMapper
      val json = mapper.createObjectNode()
      json.putObject("counts").put("restored", restored).put("total", total).put("in_progress", inProgress)
        .put("completed", completed).put("failed", failed)
      val summary = json.putObject("summary")
      Seq("checkpointed_size" -> checkpointedSize, "state_size" -> stateSize, "end_to_end_duration" -> duration)
        .foreach { case (name, s) =>
          summary.putObject(name).put("min", s.min).put("max", s.max).put("avg", s.avg)
        }
      val latest = json.putObject("latest")
      put(latest, "completed", latestCompleted)
      put(latest, "savepoint", latestSavepoint)
      put(latest, "failed", latestFailed)
      latestRestored match {
        case Some((id, atMs, isSavepoint)) =>
          latest.putObject("restored").put("id", id).put("restore_timestamp", atMs).put("is_savepoint", isSavepoint)
        case None => latest.putNull("restored")
      }
      val history = json.putArray("history")
      checkpoints.values.toSeq.reverse.foreach(_.putInto(history.addObject()))
      mapper.writeValueAsString(json)
    }

    private def put(json: ObjectNode, name: String, statistics: Option[CheckpointStatistics]): Unit =
      statistics match {
        case Some(s) => s.putInto(json.putObject(name))
        case None => json.putNull(name): Unit
      }
  }
}
