package io.snapline.spark.protocol

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.state.StateStoreId
import org.apache.spark.TaskContext

import io.snapline.checkpoint._
import io.snapline.error.InternalError
import io.snapline.snapshot.format.VersionRef
import io.snapline.snapshot.merged.StoredHandle
import io.snapline.snapshot.upload.{SnapshotFigures, SnapshotListener}
import io.snapline.storage.HadoopCheckpointStorage

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

/** The checkpoint a run goes on from: which attempt of its version each store has to load. */
private[spark] final class RestorePoint(val metadata: String, batch: Long, handles: Map[StoreId, StateHandle]) {

  /** None: the checkpoint does not know the store. */
  def handle(store: StateStoreId): Option[StateHandle] =
    handles.get(StoreId(store.operatorId, store.partitionId, store.storeName))

  /** The version a store has to have where the run goes on. */
  def version: Long = batch + 1

  /** A snapshot that holds later batches than the checkpoint's. */
  def ahead(store: StateStoreId): Option[VersionRef] = handle(store).map(_.ref).filter(_.version > version)
}

private[spark] object RestorePoint {

  /** @param metadata path of a `_metadata` */
  def read(metadata: String, configuration: Configuration): RestorePoint = {
    val path = new Path(metadata)
    val number = CheckpointMetadata.number(path.getParent.getName).getOrElse {
      throw new InternalError(s"$metadata is no path of a checkpoint's metadata.")
    }
    val storage = new HadoopCheckpointStorage(path.getParent.getParent, configuration)
    val checkpoint = CheckpointMetadata.read(storage, number)._1
    new RestorePoint(metadata, checkpoint.batch, checkpoint.handles)
  }
}
