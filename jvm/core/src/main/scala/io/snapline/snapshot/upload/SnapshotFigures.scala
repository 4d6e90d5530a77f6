package io.snapline.snapshot.upload

/** What a snapshot took, and what else it has.
  *
  * @param syncMs
  *   what the task waited, in milliseconds
  * @param asyncMs
  *   from then to the handle
  * @param inFlightBytes
  *   of rows that had come and were not processed
  */
final case class SnapshotFigures(syncMs: Long, asyncMs: Long, inFlightBytes: Long)
