package io.snapline.spark.provider

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.RecordType
import org.apache.spark.sql.execution.streaming.state.snapline.ChangeIterator

import io.snapline.snapshot.ChangelogFeed
import io.snapline.state.rowtable.Op
import io.snapline.storage.CheckpointStorage

/** The change feed of one state: what each batch changed in the end, a row for each key and change.
  *
  * A key that a batch changed more than once may show its last change only: changelogs keep what restores the state.
  */
private[spark] final class ChangeDataReader(
    storage: CheckpointStorage,
    family: StateFamily,
    startVersion: Long,
    endVersion: Long,
    endId: Option[String]
) extends ChangeIterator {
  require(startVersion >= 1 && endVersion >= startVersion, s"Versions $startVersion to $endVersion are no range.")

  private val changes = new ChangelogFeed(storage).read(startVersion, endVersion, endId).filter(_.family == family.name)

  override protected def getNext(): (RecordType.Value, UnsafeRow, UnsafeRow, Long) =
    if (!changes.hasNext) {
      finished = true
      null
    } else {
      val change = changes.next()
      // A version is made by the batch numbered one less.
      val batch = change.version - 1
      change.op match {
        case Op.Delete => (RecordType.DELETE_RECORD, family.decodeKey(change.key), null, batch)
        case Op.Put    => (RecordType.PUT_RECORD, family.decodeKey(change.key), value(change.key, change.value), batch)
        case Op.Merge  => (RecordType.MERGE_RECORD, family.decodeKey(change.key), value(change.key, change.value), batch)
        case _ =>
          throw new UnsupportedOperationException(
            s"State ${family.name} had a range of keys deleted in batch $batch, which a change feed cannot show."
          )
      }
    }

  private def value(key: Array[Byte], bytes: Array[Byte]): UnsafeRow = family.decodeValue(key, bytes)

  override protected def close(): Unit = ()
}
