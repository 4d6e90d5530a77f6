package io.snapline.spark.ui

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.scheduler.SparkListenerEvent
import org.apache.spark.util.kvstore.{KVStore, KVStoreView}

import io.snapline.checkpoint.history.RestoredCheckpoint

/** Reads what `CheckpointsListener` keeps. Any thread. */
final class CheckpointsStore(store: KVStore) {

  /** The one that started last first. */
  def queries: Seq[QueryRecord] = all(store.view(classOf[QueryRecord])).sortBy(-_.startedMs)

  def isEmpty: Boolean = store.count(classOf[QueryRecord]) == 0

  def query(start: String): Option[QueryRecord] = read(classOf[QueryRecord], start)

  /** The newest first. */
  def checkpoints(start: String): IndexedSeq[CheckpointRecord] =
    all(store.view(classOf[CheckpointRecord]).reverse().first(s"$start/~").last(s"$start/"))

  def checkpoint(start: String, id: Long): Option[CheckpointRecord] =
    read(classOf[CheckpointRecord], CheckpointRecord.key(start, id))

  def partitions(start: String, id: Long): Option[PartitionsRecord] =
    read(classOf[PartitionsRecord], CheckpointRecord.key(start, id))

  private def all[T](view: KVStoreView[T]): IndexedSeq[T] =
    Using.resource(view.closeableIterator())(_.asScala.toIndexedSeq)

  private def read[T](kind: Class[T], key: String): Option[T] =
    try Some(store.read(kind, key))
    catch { case _: NoSuchElementException => None }
}

/** An event of a checkpoint on Spark's listener bus. Spark writes these classes into the event log as JSON, by their
  * names and those of their fields (docs/notes/007): a field may be added, never renamed or removed.
  */
sealed trait CheckpointEvent extends SparkListenerEvent {

  /** Names the start of a query. */
  def start: String
}

final case class CheckpointingStarted(start: String, time: Long, folder: String, config: ConfigRecord)
    extends CheckpointEvent

/** A run of the query begins, the first or one after a failure. */
final case class CheckpointingRunBegun(start: String, time: Long, query: String, run: String, name: Option[String])
    extends CheckpointEvent

final case class CheckpointRestored(start: String, checkpoint: RestoredCheckpoint, totals: Totals)
    extends CheckpointEvent

/** Triggered, under way, or ended. */
final case class CheckpointChanged(
    start: String,
    checkpoint: CheckpointRecord,
    totals: Totals,
    partitions: Seq[OperatorPartitions]
) extends CheckpointEvent {

  /** How far it has come is for those who look at it now. */
  override def logEvent: Boolean = !checkpoint.inProgress || checkpoint.ackedCount == 0
}

/** A completed checkpoint was removed, by newer ones or by a person. */
final case class CheckpointDiscarded(start: String, id: Long) extends CheckpointEvent

final case class CheckpointingEnded(start: String, time: Long, ending: String) extends CheckpointEvent
