package io.snapline.spark.operator.state

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.StateStore
import org.apache.spark.sql.types._

/** Finds what has expired. Every stored entry with a TTL has an index entry that is not later than its expiry; a
  * refreshed value moves its entry only when that falls due. A list has one for all its elements.
  */
final class TtlIndex(
    spec: StateSpec,
    elementKey: StructType,
    store: StateStore,
    counts: ChangeCounts
) {
  private val name = TtlIndex.family(spec.name)
  private val rows = new TimeOrderedRows(elementKey, TtlIndex.Expiration, TtlIndex.Element)

  def created(expiry: Long, key: UnsafeRow): Unit = store.put(rows.key(expiry, key), rows.empty, name)

  /** Removes what had expired at `now`, and looks again later at what was refreshed. Goes through the due entries in
    * pages, each once: what it adds is later.
    */
  def cleanUp(now: Long): Unit = {
    var due = rows.until(store, name, now, TtlIndex.PageEntries, TtlIndex.PageBytes)
    while (due.nonEmpty) {
      // A list may have an entry for each time something was added: it is gone through for the first.
      val lists = mutable.HashSet.empty[UnsafeRow]
      due.foreach { case (expiry, element) =>
        store.remove(rows.key(expiry, element), name)
        if (spec.kind != StateSpec.ListKind) cleanUpValue(element, now)
        else if (lists.add(element)) cleanUpList(element, now)
      }
      due = rows.until(store, name, now, TtlIndex.PageEntries, TtlIndex.PageBytes)
    }
  }

  private def cleanUpValue(element: UnsafeRow, now: Long): Unit = {
    val stored = store.get(element, spec.name)
    if (stored != null) {
      val expiry = stored.getLong(1)
      if (expiry <= now) {
        store.remove(element, spec.name)
        counts.expired += 1
      } else created(expiry, element)
    }
  }

  private def cleanUpList(element: UnsafeRow, now: Long): Unit = {
    val kept = ArrayBuffer.empty[UnsafeRow]
    var gone = 0
    var next = Long.MaxValue
    store.valuesIterator(element, spec.name).foreach { stored =>
      if (stored.getLong(1) <= now) gone += 1
      else {
        kept += stored.copy()
        next = math.min(next, stored.getLong(1))
      }
    }
    if (gone > 0) {
      if (kept.isEmpty) store.remove(element, spec.name) else store.putList(element, kept.toArray, spec.name)
    }
    if (kept.nonEmpty) created(next, element)
    counts.expired += gone
  }
}

object TtlIndex {
  private val Expiration = "expirationMs"
  private val Element = "elementKey"
  private val PageEntries = 10000
  private val PageBytes = 16L << 20

  /** The names and the layout of Spark's own index. */
  def family(state: String): String = "$ttl_" + state

  def keySchema(elementKey: StructType): StructType = TimeOrderedRows.schema(elementKey, Expiration, Element)

  val valueSchema: StructType = StructType(Array(StructField("__empty__", NullType)))
}
