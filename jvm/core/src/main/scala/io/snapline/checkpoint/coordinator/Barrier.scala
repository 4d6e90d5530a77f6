package io.snapline.checkpoint.coordinator

import io.snapline.checkpoint.StoreId

/** The end of a batch of this run.
  *
  * @param checkpoint
  *   triggered at it, or of it afterwards
  * @param committedMs
  *   when its batch was seen to be committed
  */
final case class Barrier(
    batch: Long,
    expected: Set[StoreId],
    checkpoint: Option[Long],
    committedMs: Option[Long] = None
)
