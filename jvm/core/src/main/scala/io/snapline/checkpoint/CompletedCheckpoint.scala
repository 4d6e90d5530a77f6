package io.snapline.checkpoint

/** A checkpoint that exists: its `_metadata` is whole, and was written when all it names was durable.
  *
  * @param batch
  *   its barrier is the end of this micro-batch
  * @param ackedMs
  *   when the last acknowledgement came
  */
final case class CompletedCheckpoint(
    id: Long,
    run: String,
    batch: Long,
    properties: CheckpointProperties,
    handles: Map[StoreId, StateHandle],
    triggeredMs: Long,
    ackedMs: Long,
    completedMs: Long,
    metadataBytes: Long
) {
  def names: Seq[NamedFile] = handles.toSeq.flatMap { case (store, handle) => handle.names(store) }
}
