package io.snapline.spark.coordinator

import java.util.UUID

import org.apache.spark.sql.streaming.StreamingQueryListener
import org.apache.spark.sql.streaming.StreamingQueryListener._

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
