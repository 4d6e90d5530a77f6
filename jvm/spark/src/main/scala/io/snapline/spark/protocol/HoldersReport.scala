package io.snapline.spark.protocol

import io.snapline.checkpoint.StoreId
import io.snapline.snapshot.format.VersionRef

/** A version that a task has made and that came to its good end, and whose changes nobody but its executor has. */
final case class HeldStore(run: String, store: StoreId, ref: VersionRef)

/** An executor says that it lives and what it holds, and asks what there is to do: the answer is an array of texts
  * (HolderOrder).
  *
  * @param runs
  *   of all it holds
  * @param stores
  *   what it has not said before. May come twice
  */
final case class HoldersReport(executor: String, runs: Seq[String], stores: Seq[HeldStore])
