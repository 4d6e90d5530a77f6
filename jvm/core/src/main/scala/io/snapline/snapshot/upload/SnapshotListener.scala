package io.snapline.snapshot.upload

import io.snapline.snapshot.merged.StoredHandle

/** A snapshot that a checkpoint may get at this commit or after a later one.
  *
  * @param listener
  *   for the version that is committed now
  */
final case class OwedCheckpoint(checkpoint: Long, listener: SnapshotListener)

/** Told once how the snapshot of a checkpoint went, from a thread of the pool, or that of a merger. */
trait SnapshotListener {

  /** The handle is whole and durable.
    *
    * @param mayReuse
    *   to be called when the coordinator has answered that the store's next snapshot may name the table files of this
    *   one; until then it may delete them
    */
  def made(handle: StoredHandle, figures: SnapshotFigures, mayReuse: () => Unit): Unit

  /** There is no snapshot. */
  def failed(reason: Exception): Unit
}

/** The figures of a snapshot.
  *
  * @param syncMs
  *   milliseconds that the task waited
  * @param asyncMs
  *   milliseconds from then to the durable handle
  * @param inFlightBytes
  *   bytes of its in-flight data
  */
final case class SnapshotFigures(syncMs: Long, asyncMs: Long, inFlightBytes: Long)
