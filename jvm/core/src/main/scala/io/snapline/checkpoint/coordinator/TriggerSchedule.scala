package io.snapline.checkpoint.coordinator

import io.snapline.checkpoint.{CheckpointProperties, CoordinatorSettings, FailureReason, PendingCheckpoint}

/** Says at which barrier a checkpoint is due, and which: a person's request, or the periodic one. */
private[checkpoint] final class TriggerSchedule(settings: CoordinatorSettings) {
  private val requests = new TriggerRequests
  private var lastTriggerMs: Option[Long] = None
  private var lastCompletionMs: Option[Long] = None

  /** The request's number, and why it is refused if it is. */
  def requested(properties: CheckpointProperties, isRunning: Boolean): (Long, Option[FailureReason]) = {
    val request = requests.number()
    val refusal =
      if (!isRunning) Some(FailureReason.NotRunning)
      else if (requests.isFull) Some(FailureReason.TooManyRequests)
      else None
    if (refusal.isEmpty) requests.add(request, properties)
    (request, refusal)
  }

  /** What it returns is triggered. A savepoint does not stand in for the periodic checkpoint, what else a person asks
    * for does.
    *
    * @param last
    *   there is no later one to wait for
    * @param savepoints
    *   whether those that people ask for may be taken now
    */
  def due(
      inProgress: Int,
      nowMs: Long,
      last: Boolean = false,
      savepoints: Boolean = true
  ): Option[(CheckpointProperties, Seq[Long])] = {
    val full = inProgress >= settings.concurrent
    val isTime = settings.intervalMs.forall(interval => lastTriggerMs.forall(nowMs - _ >= interval)) &&
      lastCompletionMs.forall(nowMs - _ >= settings.minPauseMs)
    val isDue = !full && (last || isTime)
    val next = requests.take(full, savepoints).orElse(if (isDue) Some((settings.retention.properties, Nil)) else None)
    next.foreach { case (properties, _) => if (!properties.isSavepoint) lastTriggerMs = Some(nowMs) }
    next
  }

  def isAsked: Boolean = !requests.isEmpty

  /** What a person waits for, if anybody does. */
  def asked(inProgress: Int, savepoints: Boolean): Option[(CheckpointProperties, Seq[Long])] =
    requests.take(inProgress >= settings.concurrent, savepoints)

  def completed(nowMs: Long): Unit = lastCompletionMs = Some(nowMs)

  /** It came to nothing by nobody's fault: as if it had not been triggered. */
  def takeBack(p: PendingCheckpoint): Unit = {
    p.requests.foreach(requests.add(_, p.properties))
    if (!p.properties.isSavepoint) lastTriggerMs = None
  }

  /** The first barrier of a run is due: a query that runs in short spells must come to a checkpoint in each. */
  def restarted(): Unit = lastTriggerMs = None

  /** Those who wait still. */
  def drain(): Seq[Long] = requests.drain()
}
