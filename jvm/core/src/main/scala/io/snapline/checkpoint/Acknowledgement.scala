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

/** Numbers of acknowledgements and declines that changed nothing, by the reason.
  *
  * @param stale
  *   those of a run that is over
  * @param foreign
  *   those of another query, of a checkpoint that was never triggered, or of a store that the checkpoint does not
  *   expect
  * @param duplicate
  *   those of a store that had acknowledged before
  * @param late
  *   those of a checkpoint that was aborted
  */
final case class Dropped(stale: Long = 0, foreign: Long = 0, duplicate: Long = 0, late: Long = 0)

/** The reason why a checkpoint, or a request for one, failed. Names are Flink's.
  *
  * @param counts
  *   whether it counts against the tolerable number. A failure that a restart may mend, or a person has to see, does.
  *   One that follows from an end, a restart or a newer checkpoint does not
  */
sealed abstract class FailureReason(val name: String, val text: String, val counts: Boolean) {
  override def toString: String = name
}

object FailureReason {

  // Before anything was triggered.
  case object TooManyRequests
      extends FailureReason("TOO_MANY_CHECKPOINT_REQUESTS", "Too many requests are waiting for a barrier.", false)
  case object NotRunning
      extends FailureReason("NOT_ALL_REQUIRED_TASKS_RUNNING", "The query is not running.", false)
  case object TriggerFailure
      extends FailureReason("TRIGGER_CHECKPOINT_FAILURE", "The checkpoint could not be triggered.", false)

  // In the task, or in the thread that uploads.
  case object Declined extends FailureReason("CHECKPOINT_DECLINED", "A store declined the checkpoint.", true)
  case object AsyncFailure
      extends FailureReason("CHECKPOINT_ASYNC_EXCEPTION", "A snapshot could not be uploaded.", true)
  case object StorageFailure
      extends FailureReason("IO_EXCEPTION", "The file system of the checkpoint refused or failed.", true)
  case object NotReady
      extends FailureReason("CHECKPOINT_DECLINED_TASK_NOT_READY", "A store was not ready for the checkpoint.", false)
  case object Closing
      extends FailureReason("CHECKPOINT_DECLINED_TASK_CLOSING", "A store closed before its snapshot was taken.", false)
  case object TaskFailure extends FailureReason("TASK_FAILURE", "The task that took the snapshot failed.", false)

  // In the coordinator.
  case object Expired
      extends FailureReason("CHECKPOINT_EXPIRED", "The checkpoint was not complete within its timeout.", true)
  case object Subsumed extends FailureReason("CHECKPOINT_SUBSUMED", "A newer checkpoint completed first.", false)
  case object FinalizeFailure
      extends FailureReason("FINALIZE_CHECKPOINT_FAILURE", "The checkpoint's files or its metadata failed.", true)
  case object Restarted
      extends FailureReason("JOB_FAILOVER_REGION", "The query was started again.", false)
  case object Shutdown extends FailureReason("CHECKPOINT_COORDINATOR_SHUTDOWN", "The query ended.", false)
  case object Suspended
      extends FailureReason("CHECKPOINT_COORDINATOR_SUSPEND", "The query was suspended.", false)

  val all: Seq[FailureReason] = Seq(
    TooManyRequests,
    NotRunning,
    TriggerFailure,
    Declined,
    AsyncFailure,
    StorageFailure,
    NotReady,
    Closing,
    TaskFailure,
    Expired,
    Subsumed,
    FinalizeFailure,
    Restarted,
    Shutdown,
    Suspended
  )

  /** An executor of another version of Snapline may send an unknown name: it declines all the same. */
  def named(name: String): FailureReason = all.find(_.name == name).getOrElse(Declined)
}
