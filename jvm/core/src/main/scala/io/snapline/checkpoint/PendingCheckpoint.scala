package io.snapline.checkpoint

/** A store's answer, and when it came. */
final case class Acked(handle: StateHandle, atMs: Long)

/** A checkpoint in progress: triggered, and neither complete nor aborted.
  *
  * @param mayBeAhead
  *   stores whose snapshot may hold later batches too
  * @param requests
  *   numbers of the requests that wait for it
  * @param committedMs
  *   when its batch was seen to be committed: the barrier has passed
  * @param completing
  *   its metadata is being written; from then on only the outcome of that decides
  * @param afterCommit
  *   it was triggered when its batch was committed, between two batches
  */
final case class PendingCheckpoint(
    id: Long,
    run: String,
    batch: Long,
    properties: CheckpointProperties,
    expected: Set[StoreId],
    triggeredMs: Long,
    mayBeAhead: Set[StoreId] = Set.empty,
    requests: Seq[Long] = Nil,
    acked: Map[StoreId, Acked] = Map.empty,
    committedMs: Option[Long] = None,
    completing: Boolean = false,
    afterCommit: Boolean = false
) {
  def handles: Map[StoreId, StateHandle] = acked.map { case (store, ack) => store -> ack.handle }

  def latestAckMs: Option[Long] = acked.values.map(_.atMs).maxOption

  /** The newest batch of which it has changes. */
  def newestBatch: Long = acked.values.foldLeft(batch)((newest, ack) => math.max(newest, ack.handle.ref.version - 1))

  /** Whether its metadata may be written. A replayed batch goes into no sink, so the sink must have every batch whose
    * changes the checkpoint holds.
    *
    * @param committed
    *   the newest batch that is committed
    */
  def isReady(committed: Long): Boolean =
    !completing && committedMs.isDefined && missing.isEmpty && newestBatch <= committed

  /** Whether this is the answer of a store that it waits for. */
  def awaits(ack: Acknowledgement): Boolean = awaits(ack.store) && {
    val ahead = ack.handle.ref.version - (batch + 1)
    ahead == 0 || ahead > 0 && mayBeAhead(ack.store)
  }

  private def awaits(store: StoreId): Boolean = !completing && expected(store) && !acked.contains(store)

  /** Whether some store may still answer with a snapshot of a later batch. */
  def isOwed: Boolean = mayBeAhead.exists(awaits)

  def missing: Set[StoreId] = expected.diff(acked.keySet)

  /** Its time is that of the stores: how long a later batch takes that one of them has changes of is not for it to
    * judge.
    */
  def isExpired(nowMs: Long, timeoutMs: Long): Boolean =
    !completing && missing.nonEmpty && committedMs.exists(nowMs - _ > timeoutMs)

  /** A savepoint is somebody's: a newer checkpoint does not replace it. */
  def canBeSubsumed: Boolean = !completing && !properties.isSavepoint

  def completed(nowMs: Long, metadataBytes: Long): CompletedCheckpoint =
    CompletedCheckpoint(
      id,
      run,
      batch,
      properties,
      handles,
      triggeredMs,
      latestAckMs.getOrElse(triggeredMs),
      nowMs,
      metadataBytes
    )
}

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

  /** Whether it belongs to the history that a recovery from a checkpoint abandons. Users own savepoints. */
  def isAbandonedBy(restored: Long): Boolean = id > restored && !properties.isSavepoint
}
