package io.snapline.checkpoint.history

/** Hears of every change to a query's history, in order. Called on the coordinator's thread, under its owner's lock: it
  * must neither block nor throw.
  */
trait HistoryListener {

  /** Triggered, acknowledged by one more store, completed or failed.
    *
    * @param history
    *   with this change
    */
  def changed(checkpoint: CheckpointStatistics, history: HistoryFigures): Unit

  /** A completed checkpoint is there no more. */
  def discarded(id: Long): Unit

  def restored(checkpoint: RestoredCheckpoint, history: HistoryFigures): Unit
}

object HistoryListener {
  object None extends HistoryListener {
    override def changed(checkpoint: CheckpointStatistics, history: HistoryFigures): Unit = ()
    override def discarded(id: Long): Unit = ()
    override def restored(checkpoint: RestoredCheckpoint, history: HistoryFigures): Unit = ()
  }
}
