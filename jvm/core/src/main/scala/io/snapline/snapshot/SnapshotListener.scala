package io.snapline.snapshot

/** Told once how the snapshot of a checkpoint went, from a thread of the pool. */
trait SnapshotListener {

  /** The handle is whole and durable.
    *
    * @param handleBytes
    *   length of the handle file
    * @param syncMs
    *   what the task waited, in milliseconds
    * @param asyncMs
    *   from then to the handle
    */
  def made(meta: HandleMeta, handleBytes: Long, syncMs: Long, asyncMs: Long): Unit

  /** There is no snapshot. */
  def failed(reason: Exception): Unit
}
