package io.snapline.checkpoint

/** A store's snapshot for a checkpoint is durable, and the task that took it has ended well. May come twice, late, or
  * from a run that is over.
  */
final case class Acknowledgement(query: String, run: String, checkpoint: Long, store: StoreId, handle: StateHandle)

/** A store has no snapshot for a checkpoint and will not have one. */
final case class Decline(
    query: String,
    run: String,
    checkpoint: Long,
    store: StoreId,
    reason: FailureReason,
    message: String
)

/** Acknowledgements and declines that changed nothing, by what was wrong with them.
  *
  * @param stale
  *   of a run that is over
  * @param foreign
  *   of another query, of a checkpoint that was never triggered, or of a store it does not expect
  * @param duplicate
  *   of a store that had acknowledged
  * @param late
  *   of a checkpoint that was given up
  */
final case class Dropped(stale: Long = 0, foreign: Long = 0, duplicate: Long = 0, late: Long = 0)
