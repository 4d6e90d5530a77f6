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

  /** The checkpoint to trigger now. A user-triggered checkpoint stands in for the periodic one; a savepoint does not.
    *
    * @param last
    *   whether no later barrier comes
    * @param savepoints
    *   whether savepoints may be taken now
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

  /** The requested checkpoint or savepoint to take now, and its requests. */
  def asked(inProgress: Int, savepoints: Boolean): Option[(CheckpointProperties, Seq[Long])] =
    requests.take(inProgress >= settings.concurrent, savepoints)

  def completed(nowMs: Long): Unit = lastCompletionMs = Some(nowMs)

  /** It was aborted by nobody's fault: the schedule is as if it had not been triggered. */
  def takeBack(p: PendingCheckpoint): Unit = {
    p.requests.foreach(requests.add(_, p.properties))
    if (!p.properties.isSavepoint) lastTriggerMs = None
  }

  /** The first barrier of a run is due: a query that runs in short spells must come to a checkpoint in each. */
  def restarted(): Unit = lastTriggerMs = None

  /** Those who wait still. */
  def drain(): Seq[Long] = requests.drain()
}

/** People's requests that wait for a barrier. They come before periodic checkpoints: savepoints first, then forced
  * ones, then the oldest.
  */
private[checkpoint] final class TriggerRequests {
  import TriggerRequests._

  private var waiting = Vector.empty[Request]
  private var last = 0L

  def isEmpty: Boolean = waiting.isEmpty

  def isFull: Boolean = waiting.size >= Most

  /** The number of a new request, whether it is accepted or not. */
  def number(): Long = {
    last += 1
    last
  }

  def add(request: Long, properties: CheckpointProperties): Unit = waiting :+= Request(request, properties)

  /** Takes the next to be fulfilled at this barrier, with all that ask for the very same. The pause does not hold it
    * up, the number in progress only if it is not forced.
    *
    * @param full
    *   as many checkpoints are in progress as there may be
    * @param savepoints
    *   whether they may be taken now
    */
  def take(full: Boolean, savepoints: Boolean): Option[(CheckpointProperties, Seq[Long])] =
    waiting.filter(savepoints || !_.properties.isSavepoint)
      .sortBy(r => (!r.properties.isSavepoint, !r.properties.forced, r.id)).headOption
      .map(_.properties)
      .filter(_.forced || !full)
      .map { properties =>
        val (taken, left) = waiting.partition(_.properties == properties)
        waiting = left
        (properties, taken.map(_.id))
      }

  def drain(): Seq[Long] = {
    val all = waiting.map(_.id)
    waiting = Vector.empty
    all
  }
}

private[checkpoint] object TriggerRequests {
  final case class Request(id: Long, properties: CheckpointProperties)

  private val Most = 1000
}
