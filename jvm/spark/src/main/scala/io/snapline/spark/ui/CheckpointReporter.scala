package io.snapline.spark.ui

import java.util.UUID
import java.util.concurrent.{ScheduledExecutorService, TimeUnit}

import scala.collection.mutable
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.snapline.checkpoint._
import io.snapline.checkpoint.history.{CheckpointStatistics, CheckpointStatus, HistoryFigures, RestoredCheckpoint}
import io.snapline.spark.coordinator.CheckpointObserver

/** Tells the listener bus of one start's checkpoints. Events are made on the thread given, one after another: with
  * thousands of partitions that takes a moment, and the coordinator must not wait for it. How far a checkpoint has come
  * is told once in a second.
  *
  * @param nameOf
  *   the name the user gave to the query of this run
  */
private[spark] final class CheckpointReporter(
    of: CheckpointReporter.Start,
    worker: ScheduledExecutorService,
    post: CheckpointEvent => Unit,
    nameOf: UUID => Option[String]
) extends CheckpointObserver {
  import CheckpointReporter._

  private val start = of.id
  private val log = LoggerFactory.getLogger(classOf[CheckpointReporter])
  private var operators = Map.empty[Long, String]
  private var began = false

  /** The changes since the last report. */
  private val untold = mutable.LinkedHashMap.empty[Long, () => CheckpointChanged]

  override def started(): Unit = synchronized {
    began = true
    val now = System.currentTimeMillis()
    work(post(CheckpointingStarted(start, now, of.folder, of.config)))
  }

  override def begun(query: String, run: UUID): Unit = {
    val now = System.currentTimeMillis()
    work(post(CheckpointingRunBegun(start, now, query, run.toString, nameOf(run))))
  }

  override def planned(operators: Map[Long, String]): Unit = synchronized { this.operators = operators }

  override def changed(checkpoint: CheckpointStatistics, history: HistoryFigures): Unit = synchronized {
    val (totals, names) = (Totals.of(history), operators)
    val event = () => {
      val partitions = if (checkpoint.ackedCount == 0) Nil else OperatorPartitions.of(checkpoint.checkpoint)
      CheckpointChanged(start, CheckpointRecord.of(start, checkpoint, names), totals, partitions)
    }
    if (checkpoint.status == CheckpointStatus.InProgress && checkpoint.ackedCount > 0) {
      if (untold.isEmpty) schedule(tell())
      untold(checkpoint.id) = event
    } else {
      untold -= checkpoint.id
      work(post(event()))
    }
  }

  private def tell(): Unit = {
    val events = synchronized {
      val all = untold.values.toSeq
      untold.clear()
      all
    }
    events.foreach(event => post(event()))
  }

  override def discarded(id: Long): Unit = work(post(CheckpointDiscarded(start, id)))

  override def restored(checkpoint: RestoredCheckpoint, history: HistoryFigures): Unit = {
    val totals = Totals.of(history)
    work(post(CheckpointRestored(start, checkpoint, totals)))
  }

  /** Nothing is told of a start that failed. */
  override def ended(how: Ending): Unit = synchronized {
    val now = System.currentTimeMillis()
    if (began) work(post(CheckpointingEnded(start, now, how.name)))
  }

  private def work(action: => Unit): Unit = if (!worker.isShutdown) worker.execute(() => safely(action))

  private def schedule(action: => Unit): Unit =
    if (!worker.isShutdown) worker.schedule((() => safely(action)): Runnable, ProgressMs, TimeUnit.MILLISECONDS): Unit

  private def safely(action: => Unit): Unit =
    try action
    catch { case NonFatal(e) => log.warn(s"The Checkpoints tab misses something of $start.", e) }
}

private[spark] object CheckpointReporter {

  /** @param id
    *   the id of the start, and of no other
    */
  final case class Start(id: String, folder: String, config: ConfigRecord)

  private val ProgressMs = 1000L
}
