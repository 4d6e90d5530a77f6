package io.snapline.spark.provider

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.{RecordType, StateStoreConf, StateStoreId}
import org.apache.spark.sql.execution.streaming.state.snapline.ChangeIterator

import io.snapline.snapshot.format.{Change, ChangelogFeed}
import io.snapline.state.rowtable.Op
import io.snapline.storage.CheckpointStorage

/** The change feed of one state: a row for each call that changed it, and for each value of a list, in the order of the
  * calls.
  */
private[spark] final class ChangeDataReader(
    id: StateStoreId,
    conf: StateStoreConf,
    storage: CheckpointStorage,
    family: StateFamily,
    startVersion: Long,
    endVersion: Long,
    endId: Option[String]
) extends ChangeIterator(id, startVersion, endVersion, conf) {
  private val changes = new ChangelogFeed(storage).read(startVersion, endVersion, endId).filter(_.family == family.name)

  private val rows = changes.flatMap(rowsOf)

  override protected def getNext(): (RecordType.Value, UnsafeRow, UnsafeRow, Long) =
    if (rows.hasNext) rows.next()
    else {
      finished = true
      null
    }

  private def rowsOf(change: Change): Iterator[(RecordType.Value, UnsafeRow, UnsafeRow, Long)] = {
    // A version is made by the batch numbered one less.
    val batch = change.version - 1
    change.op match {
      case Op.Delete => Iterator((RecordType.DELETE_RECORD, family.decodeKey(change.key), null, batch))
      case Op.Put => valuesOf(change, RecordType.PUT_RECORD, batch)
      case Op.Merge => valuesOf(change, RecordType.MERGE_RECORD, batch)
      case _ =>
        throw new UnsupportedOperationException(
          s"State ${family.name} had a range of keys deleted in batch $batch (DELETE_RANGE_RECORD), which a change feed cannot show."
        )
    }
  }

  /** A list shows its values one by one; those after the first are appended. */
  private def valuesOf(
      change: Change,
      first: RecordType.Value,
      batch: Long
  ): Iterator[(RecordType.Value, UnsafeRow, UnsafeRow, Long)] = {
    val key = family.decodeKey(change.key)
    if (!family.multi) Iterator((first, key, family.decodeValue(change.key, change.value), batch))
    else
      family.decodeValues(change.key, change.value).zipWithIndex.map { case (value, i) =>
        (if (i == 0) first else RecordType.MERGE_RECORD, key, value, batch)
      }
  }

  override def close(): Unit = ()
}
