package io.snapline.spark.coordinator

import java.util.UUID

import org.apache.spark.sql.streaming.StreamingQueryListener
import org.apache.spark.sql.streaming.StreamingQueryListener._

import io.snapline.checkpoint._
import io.snapline.snapshot.merged.StoredHandle
import io.snapline.snapshot.upload.SnapshotFigures

/** Handles in storage are the truth, and the messages of executors only make it known fast: what a checkpoint still
  * waits for is looked up when it has waited long.
  *
  * @param afterMs
  *   from the commit of the batch, and from one look to the next
  * @param handlesOf
  *   what a run has made of a version, by store
  */
private[spark] final class LostAcknowledgements(
    query: String,
    afterMs: Long,
    handlesOf: (Long, String) => StoreId => Seq[StoredHandle]
) {
  private var lastLooks = Map.empty[Long, Long]

  /** The acknowledgements that were found. A store with several attempts is left out: only its message can tell which
    * of them ended well.
    */
  def look(pending: Seq[PendingCheckpoint], nowMs: Long): Seq[Acknowledgement] = {
    lastLooks = lastLooks.filter { case (id, _) => pending.exists(_.id == id) }
    val waiting = pending.filter(p => !p.completing && isDue(p, nowMs))
    lastLooks ++= waiting.map(_.id -> nowMs)
    for {
      p <- waiting
      there = handlesOf(p.batch + 1, p.run)
      store <- p.missing.toSeq
      handle <- Some(there(store)).filter(_.size == 1).map(_.head)
    } yield Acknowledgement(query, p.run, p.id, store, StateHandle.of(handle, SnapshotFigures(0, 0, 0)))
  }

  private def isDue(p: PendingCheckpoint, nowMs: Long): Boolean =
    p.committedMs.exists(committed => nowMs - lastLooks.getOrElse(p.id, committed) >= afterMs)
}

/** Hears of each committed batch of every query.
  *
  * @param committed
  *   told run and batch
  */
private[coordinator] final class CommitListener(committed: (UUID, Long) => Unit) extends StreamingQueryListener {
  override def onQueryStarted(event: QueryStartedEvent): Unit = ()

  override def onQueryProgress(event: QueryProgressEvent): Unit =
    committed(event.progress.runId, event.progress.batchId)

  override def onQueryTerminated(event: QueryTerminatedEvent): Unit = ()
}
