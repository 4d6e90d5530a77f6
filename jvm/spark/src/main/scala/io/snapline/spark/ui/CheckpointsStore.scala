package io.snapline.spark.ui

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.util.kvstore.{KVStore, KVStoreView}

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
