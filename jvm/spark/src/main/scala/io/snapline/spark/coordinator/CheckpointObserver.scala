package io.snapline.spark.coordinator

import java.util.UUID

import io.snapline.checkpoint._
import io.snapline.checkpoint.history.{CheckpointStatistics, HistoryFigures, HistoryListener, RestoredCheckpoint}

/** Sees what becomes of one query's checkpoints. Called under the driver's lock: it must neither block nor throw. */
private[spark] trait CheckpointObserver extends HistoryListener {

  /** The query is registered. Before it nothing is to be told: the start may come to nothing. */
  def started(): Unit

  /** A run begins, the first or one after a failure. */
  def begun(query: String, run: UUID): Unit

  /** Names of the stateful operators of the batch that is planned. */
  def planned(operators: Map[Long, String]): Unit

  def ended(how: Ending): Unit
}

private[spark] object CheckpointObserver {

  /** Looks away. */
  object None extends CheckpointObserver {
    override def started(): Unit = ()
    override def begun(query: String, run: UUID): Unit = ()
    override def planned(operators: Map[Long, String]): Unit = ()
    override def changed(checkpoint: CheckpointStatistics, history: HistoryFigures): Unit = ()
    override def discarded(id: Long): Unit = ()
    override def restored(checkpoint: RestoredCheckpoint, history: HistoryFigures): Unit = ()
    override def ended(how: Ending): Unit = ()
  }
}

/** Gives every query that is started its observer. Closed when the application ends, after the last of them has heard
  * of its query's end.
  */
private[spark] trait CheckpointObservers extends AutoCloseable {

  /** @param nameOf
    *   the name the user gave to the query of this run; may be asked for on another thread
    */
  def observer(
      folder: String,
      settings: CoordinatorSettings,
      durableBatches: Boolean,
      nameOf: UUID => Option[String]
  ): CheckpointObserver
}
