package io.snapline.checkpoint.history

import scala.collection.immutable.TreeMap

import com.fasterxml.jackson.databind.ObjectMapper

import io.snapline.checkpoint.{CompletedCheckpoint, FailureReason, PendingCheckpoint}

/** The last checkpoints of a query and figures over all of them since this coordinator began. The coordinator's thread
  * writes; any thread reads `snapshot`.
  */
final class CheckpointHistory(remembered: Int = CheckpointHistory.Remembered) {
  import CheckpointHistory.Snapshot

  @volatile private var now = Snapshot()
  private var listener: HistoryListener = HistoryListener.None

  def snapshot: Snapshot = now

  /** From now on. */
  def listen(listener: HistoryListener): Unit = this.listener = listener

  private[checkpoint] def triggered(p: PendingCheckpoint): Unit = {
    val statistics = CheckpointStatistics(p, CheckpointStatus.InProgress)
    now = remember(statistics).copy(total = now.total + 1)
    listener.changed(statistics, now)
  }

  private[checkpoint] def progressed(p: PendingCheckpoint): Unit = {
    now = now.copy(checkpoints = now.checkpoints.updatedWith(p.id)(_.map(_.copy(checkpoint = p))))
    now.checkpoints.get(p.id).foreach(listener.changed(_, now))
  }

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
      inFlightSize = before.inFlightSize.add(statistics.inFlightSize),
      latestCompleted = if (p.properties.isSavepoint) before.latestCompleted else Some(statistics),
      latestSavepoint = if (p.properties.isSavepoint) Some(statistics) else before.latestSavepoint
    )
    listener.changed(statistics, now)
  }

  private[checkpoint] def failed(p: PendingCheckpoint, reason: FailureReason, message: String, nowMs: Long): Unit = {
    val statistics = CheckpointStatistics(p, CheckpointStatus.Failed, Some(nowMs), Some((reason, message)))
    val before = remember(statistics)
    now = before.copy(failed = before.failed + 1, latestFailed = Some(statistics))
    listener.changed(statistics, now)
  }

  private[checkpoint] def discarded(id: Long): Unit = {
    def mark(statistics: CheckpointStatistics): CheckpointStatistics =
      if (statistics.id == id) statistics.copy(discarded = true) else statistics
    now = now.copy(
      checkpoints = now.checkpoints.updatedWith(id)(_.map(mark)),
      latestCompleted = now.latestCompleted.map(mark),
      latestSavepoint = now.latestSavepoint.map(mark)
    )
    listener.discarded(id)
  }

  private[checkpoint] def restored(c: CompletedCheckpoint, nowMs: Long): Unit = {
    val latest = RestoredCheckpoint(c.id, nowMs, c.properties.isSavepoint)
    now = now.copy(restored = now.restored + 1, latestRestored = Some(latest))
    listener.restored(latest, now)
  }

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
      inFlightSize: Summary = Summary(),
      latestCompleted: Option[CheckpointStatistics] = None,
      latestSavepoint: Option[CheckpointStatistics] = None,
      latestFailed: Option[CheckpointStatistics] = None,
      latestRestored: Option[RestoredCheckpoint] = None
  ) extends HistoryFigures {

    /** The newest first, as in Flink. */
    def json: String = {
      val mapper = new ObjectMapper
      val json = mapper.createObjectNode()
      val newestFirst = checkpoints.values.toSeq.reverse
      putInto(json, newestFirst, newestFirst)
      mapper.writeValueAsString(json)
    }
  }
}
