package io.snapline.checkpoint

import io.snapline.error.InvalidConfiguration

/** How a checkpoint is taken and removed: Flink's five kinds. They are decided at the trigger and never change.
  *
  * @param forced
  *   triggered at the next barrier whatever the pause and the number in progress
  * @param isSynchronous
  *   the query stops behind it
  * @param discardSubsumed
  *   removed when newer ones fill the number retained
  * @param discardedBy
  *   the ends of the query that remove it
  */
sealed abstract class CheckpointProperties(
    val name: String,
    val forced: Boolean,
    val isSavepoint: Boolean,
    val isSynchronous: Boolean,
    val discardSubsumed: Boolean,
    discardedBy: Set[Ending]
) {

  /** Whether a query that ends so takes the checkpoint with it. */
  def discardedWhen(ending: Ending): Boolean = discardedBy(ending)

  override def toString: String = name
}

object CheckpointProperties {

  /** A savepoint belongs to the person who asked for it: nothing the system does removes it. */
  sealed abstract class OfSavepoint(name: String, isSynchronous: Boolean)
      extends CheckpointProperties(name, true, true, isSynchronous, false, Set.empty)

  /** A periodic checkpoint goes when newer ones stand in for it, and with the query that finished. */
  sealed abstract class OfCheckpoint(name: String, discardedBy: Ending*)
      extends CheckpointProperties(name, false, false, false, true, discardedBy.toSet + Ending.Finished)

  case object SyncSavepoint extends OfSavepoint("SYNC_SAVEPOINT", isSynchronous = true)
  case object Savepoint extends OfSavepoint("SAVEPOINT", isSynchronous = false)
  case object NeverRetained
      extends OfCheckpoint("CHECKPOINT_NEVER_RETAINED", Ending.Canceled, Ending.Failed, Ending.Suspended)
  case object RetainedOnFailure
      extends OfCheckpoint("CHECKPOINT_RETAINED_ON_FAILURE", Ending.Canceled, Ending.Suspended)
  case object RetainedOnCancellation extends OfCheckpoint("CHECKPOINT_RETAINED_ON_CANCELLATION")

  val all: Seq[CheckpointProperties] =
    Seq(SyncSavepoint, Savepoint, NeverRetained, RetainedOnFailure, RetainedOnCancellation)

  def named(name: String): Option[CheckpointProperties] = all.find(_.name == name)
}

/** The ends of a query that its periodic checkpoints outlive: Flink's three policies. */
sealed abstract class RetentionPolicy(val name: String, val properties: CheckpointProperties) {
  override def toString: String = name
}

object RetentionPolicy {
  case object NeverRetainAfterTermination
      extends RetentionPolicy("NEVER_RETAIN_AFTER_TERMINATION", CheckpointProperties.NeverRetained)
  case object RetainOnFailure extends RetentionPolicy("RETAIN_ON_FAILURE", CheckpointProperties.RetainedOnFailure)
  case object RetainOnCancellation
      extends RetentionPolicy("RETAIN_ON_CANCELLATION", CheckpointProperties.RetainedOnCancellation)

  val all: Seq[RetentionPolicy] = Seq(NeverRetainAfterTermination, RetainOnFailure, RetainOnCancellation)

  /** Any case, as Flink reads its enums. */
  def named(name: String): RetentionPolicy = all.find(_.name.equalsIgnoreCase(name)).getOrElse(
    throw new InvalidConfiguration(
      s"${CoordinatorSettings.RetentionKey} is $name.",
      s"set it to one of ${all.mkString(", ")}."
    )
  )
}

/** How a query came to its end. Only these take checkpoints away; a restart of the same query is `started` again, not
  * an end.
  *
  * A query that may start again from its checkpoint folder (`stop()`, or a trigger that ran out of data) is
  * `Suspended`, whatever Spark calls it: `Finished` discards every periodic checkpoint, as in Flink.
  */
sealed abstract class Ending(val name: String) {
  override def toString: String = name
}

object Ending {
  case object Finished extends Ending("FINISHED")
  case object Canceled extends Ending("CANCELED")
  case object Failed extends Ending("FAILED")
  case object Suspended extends Ending("SUSPENDED")

  val all: Seq[Ending] = Seq(Finished, Canceled, Failed, Suspended)
}
