package io.snapline.spark.protocol

import org.apache.spark.TaskContext

import io.snapline.checkpoint._
import io.snapline.snapshot.merged.StoredHandle
import io.snapline.snapshot.upload.{SnapshotFigures, SnapshotListener}

/** One store's part in a checkpoint, from its commit to the acknowledgement.
  *
  * Acknowledges when the handle is durable and the task has ended well: of two attempts only one has its output in the
  * sink, and its state is the one to keep. Files that a failed attempt uploaded stay, named by nobody, until clean-up.
  */
private[spark] final class TaskCheckpoint(
    query: String,
    run: String,
    checkpoint: Long,
    store: StoreId,
    task: TaskContext,
    tell: (AnyRef, Boolean => Unit) => Unit = ExecutorLink.tell
) extends SnapshotListener {
  private var ready: Option[() => Unit] = None
  private var taskEndedWell = false

  task.addTaskCompletionListener[Unit](ended => if (!ended.isFailed() && !ended.isInterrupted()) endedWell())

  override def made(handle: StoredHandle, figures: SnapshotFigures, mayReuse: () => Unit): Unit = {
    val ack = Acknowledgement(query, run, checkpoint, store, StateHandle.of(handle, figures))
    arrived(() => tell(ack, granted => if (granted) mayReuse()))
  }

  override def failed(reason: Exception): Unit = {
    val message = s"${reason.getClass.getSimpleName}: ${reason.getMessage}"
    val decline = Decline(query, run, checkpoint, store, FailureReason.AsyncFailure, message)
    arrived(() => tell(decline, _ => ()))
  }

  private def arrived(send: () => Unit): Unit = synchronized {
    if (taskEndedWell) send() else ready = Some(send)
  }

  private def endedWell(): Unit = synchronized {
    taskEndedWell = true
    ready.foreach(_.apply())
    ready = None
  }
}
