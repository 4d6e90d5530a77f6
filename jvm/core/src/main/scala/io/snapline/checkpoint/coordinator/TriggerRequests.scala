package io.snapline.checkpoint.coordinator

import io.snapline.checkpoint.CheckpointProperties

/** People's requests that wait for a barrier. They come before periodic checkpoints: savepoints first, then forced
  * ones, then the oldest.
  */
private[checkpoint] final class TriggerRequests {
  import TriggerRequests._

  private var waiting = Vector.empty[Request]
  private var last = 0L

  def isEmpty: Boolean = waiting.isEmpty

  def isFull: Boolean = waiting.size >= Most

  /** What a new request is known by, whether it is taken in or not. */
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
