package io.snapline.spark.ui

import scala.collection.mutable

import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.streaming.StreamingQueryListener.QueryProgressEvent
import org.apache.spark.util.kvstore.KVStore

import io.snapline.spark.settings.UiSettings

/** Keeps in Spark's store what the tab shows, and forgets what is beyond the bounds. One thread: that of the listener
  * bus, or the one that replays an event log into an empty store.
  */
final class CheckpointsListener(store: KVStore, settings: UiSettings) extends SparkListener {

  /** Starts of queries, the oldest first, with the numbers of their checkpoints that are kept. */
  private val queries = mutable.LinkedHashMap.empty[String, Kept]

  /** Keys of the checkpoints whose partitions are kept, the oldest first. */
  private val details = mutable.LinkedHashSet.empty[String]

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case CheckpointingStarted(start, time, folder, config) =>
      queries(start) = new Kept
      store.write(QueryRecord(start, time, folder, config))
      forgetQueries()
    case event: QueryProgressEvent =>
      SinkRecord.of(event.progress.sink).foreach(heard(event.progress.runId.toString, _))
    case event: CheckpointEvent if queries.contains(event.start) => update(event)
    case _ => ()
  }

  /** A micro-batch of a run has ended. */
  private[ui] def heard(run: String, sink: SinkRecord): Unit =
    queries.keys.map(store.read(classOf[QueryRecord], _)).find(_.run == run).foreach { query =>
      store.write(query.copy(sink = Some(sink)))
    }

  private def update(event: CheckpointEvent): Unit = {
    val before = store.read(classOf[QueryRecord], event.start)
    event match {
      case CheckpointingRunBegun(_, _, query, run, name) =>
        store.write(before.copy(query = query, run = run, name = name.orElse(before.name), runs = before.runs + 1))
      case CheckpointRestored(_, checkpoint, totals) =>
        store.write(before.withTotals(totals).copy(latestRestored = Some(checkpoint)))
      case CheckpointChanged(_, checkpoint, totals, partitions) =>
        keep(checkpoint)
        if (partitions.nonEmpty) keep(PartitionsRecord(checkpoint.key, partitions))
        store.write(latest(before.withTotals(totals), checkpoint))
      case CheckpointDiscarded(start, id) =>
        if (queries(start).ids(id)) {
          val checkpoint = store.read(classOf[CheckpointRecord], CheckpointRecord.key(start, id))
          store.write(checkpoint.copy(discarded = true))
        }
        def mark(checkpoint: CheckpointRecord): CheckpointRecord =
          if (checkpoint.id == id) checkpoint.copy(discarded = true) else checkpoint
        store.write(before.copy(
          latestCompleted = before.latestCompleted.map(mark),
          latestSavepoint = before.latestSavepoint.map(mark)
        ))
      case CheckpointingEnded(_, time, ending) =>
        store.write(before.copy(ending = ending, endedMs = time))
        queries(event.start).endedMs = time
      case CheckpointingStarted(_, _, _, _) => ()
    }
  }

  private def latest(query: QueryRecord, checkpoint: CheckpointRecord): QueryRecord =
    if (checkpoint.failed.isDefined) query.copy(latestFailed = Some(checkpoint))
    else if (!checkpoint.hasCompleted) query
    else if (checkpoint.savepoint) query.copy(latestSavepoint = Some(checkpoint))
    else query.copy(latestCompleted = Some(checkpoint))

  private def keep(checkpoint: CheckpointRecord): Unit = {
    val ids = queries(checkpoint.start).ids
    store.write(checkpoint)
    ids += checkpoint.id
    if (ids.size > settings.checkpoints) {
      forget(checkpoint.start, ids.head)
      ids -= ids.head
    }
  }

  private def keep(partitions: PartitionsRecord): Unit = if (settings.details > 0) {
    store.write(partitions)
    details += partitions.key
    if (details.size > settings.details) {
      store.delete(classOf[PartitionsRecord], details.head)
      details -= details.head
    }
  }

  private def forget(start: String, id: Long): Unit = {
    val key = CheckpointRecord.key(start, id)
    store.delete(classOf[CheckpointRecord], key)
    if (details.remove(key)) store.delete(classOf[PartitionsRecord], key)
  }

  /** Queries that run stay. */
  private def forgetQueries(): Unit =
    if (queries.size > settings.queries) {
      queries.filter(_._2.endedMs >= 0).minByOption(_._2.endedMs).foreach { case (start, kept) =>
        kept.ids.foreach(forget(start, _))
        store.delete(classOf[QueryRecord], start)
        queries -= start
      }
    }

  private final class Kept {
    val ids = mutable.LinkedHashSet.empty[Long]
    var endedMs: Long = -1
  }
}
