package io.snapline.checkpoint

/** What may be done with a checkpoint, decided when it is triggered and never changed: Flink's five.
  *
  * @param forced
  *   triggered at the next barrier whatever the pause and the number in progress
  * @param isSynchronous
  *   the query stops behind it
  * @param discardSubsumed
  *   removed when newer ones fill the number retained
  */
sealed abstract class CheckpointProperties(
    val name: String,
    val forced: Boolean,
    val isSavepoint: Boolean,
    val isSynchronous: Boolean,
    val discardSubsumed: Boolean,
    val discardFinished: Boolean,
    val discardCancelled: Boolean,
    val discardFailed: Boolean,
    val discardSuspended: Boolean
) {

  /** Whether a query that ends so takes the checkpoint with it. */
  def discardedWhen(ending: Ending): Boolean = ending match {
    case Ending.Finished => discardFinished
    case Ending.Canceled => discardCancelled
    case Ending.Failed => discardFailed
    case Ending.Suspended => discardSuspended
  }

  override def toString: String = name
}

object CheckpointProperties {

  /** A savepoint belongs to the person who asked for it: nothing the system does removes it. */
  sealed abstract class OfSavepoint(name: String, isSynchronous: Boolean)
      extends CheckpointProperties(name, true, true, isSynchronous, false, false, false, false, false)

  /** A periodic checkpoint goes when newer ones stand in for it, and with the query that finished. */
  sealed abstract class OfCheckpoint(name: String, cancelled: Boolean, failed: Boolean, suspended: Boolean)
      extends CheckpointProperties(name, false, false, false, true, true, cancelled, failed, suspended)

  case object SyncSavepoint extends OfSavepoint("SYNC_SAVEPOINT", isSynchronous = true)
  case object Savepoint extends OfSavepoint("SAVEPOINT", isSynchronous = false)
  case object NeverRetained
      extends OfCheckpoint("CHECKPOINT_NEVER_RETAINED", cancelled = true, failed = true, suspended = true)
  case object RetainedOnFailure
      extends OfCheckpoint("CHECKPOINT_RETAINED_ON_FAILURE", cancelled = true, failed = false, suspended = true)
  case object RetainedOnCancellation
      extends OfCheckpoint("CHECKPOINT_RETAINED_ON_CANCELLATION", cancelled = false, failed = false, suspended = false)

  val all: Seq[CheckpointProperties] =
    Seq(SyncSavepoint, Savepoint, NeverRetained, RetainedOnFailure, RetainedOnCancellation)

  def named(name: String): Option[CheckpointProperties] = all.find(_.name == name)
}
