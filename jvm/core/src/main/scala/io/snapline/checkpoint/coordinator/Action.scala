package io.snapline.checkpoint.coordinator

import io.snapline.checkpoint.{FailureReason, NamedFile, PendingCheckpoint}

/** A task for the driver. It does them in the order given, on one thread.
  *
  * No action may overtake an earlier one: files are released to a `Delete` only because the one before it has taken
  * away the metadata that named them.
  */
sealed trait Action

object Action {

  /** See that all the checkpoint names is there, write its metadata, and report `metadataWritten` or `writeFailed`. */
  final case class Complete(checkpoint: PendingCheckpoint) extends Action

  /** The checkpoint is aborted, and its requesters are told. Its uploads may stop. Acknowledgements that still come are
    * handled as usual: one that no checkpoint awaits is counted and dropped. The store's next snapshot may build on its
    * files.
    */
  final case class Abort(checkpoint: PendingCheckpoint, reason: FailureReason, message: String) extends Action

  /** A request that will not be fulfilled. */
  final case class Refuse(request: Long, reason: FailureReason) extends Action

  /** Remove files that nothing names any more: the metadata first, then the handles, or merged files of handles, then
    * the table files. A file that is not there is no failure. When the metadata cannot be removed nothing else may be,
    * here and in every later `Delete`, until it is.
    *
    * @param metadata
    *   the checkpoint's `_metadata` goes; it may not be there, or only in part
    */
  final case class Delete(checkpoint: Long, metadata: Boolean, handles: Seq[NamedFile], tables: Seq[NamedFile])
      extends Action {
    def files: Seq[NamedFile] = handles ++ tables
  }

  /** More checkpoints in a row have failed than the query tolerates. */
  final case class FailQuery(checkpoint: Long, reason: FailureReason, message: String) extends Action

  /** No retained checkpoint needs log entries of batches below this one. */
  final case class Purge(belowBatch: Long) extends Action
}
