package io.snapline.spark.operator

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.StateStore
import org.apache.spark.sql.types._

/** Finds what has expired. Every stored entry with a TTL has an index entry that is not later than its expiry; a refreshed value moves its entry only when that falls due. */
final class TtlIndex(
    spec: StateSpec,
    elementKey: StructType,
    store: StateStore,
    counts: ChangeCounts
) {
  private val name = TtlIndex.family(spec.name)
  private val rows = new TimeOrderedRows(elementKey, TtlIndex.Expiration, TtlIndex.Element)

  def created(expiry: Long, key: UnsafeRow): Unit = store.put(rows.key(expiry, key), rows.empty, name)

  /** Removes what had expired at `now`, and looks again later at what was refreshed. */
  def cleanUp(now: Long): Unit = {
    val due = rows.until(store, name, now, Int.MaxValue)
    due.foreach { case (expiry, element) =>
      store.remove(rows.key(expiry, element), name)
      if (spec.kind == StateSpec.ListKind) cleanUpList(element, now) else cleanUpValue(element, now)
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

  /** The names and the layout of Spark's own index. */
  def family(state: String): String = "$ttl_" + state

  def keySchema(elementKey: StructType): StructType = TimeOrderedRows.schema(elementKey, Expiration, Element)

  val valueSchema: StructType = StructType(Array(StructField("__empty__", NullType)))
}
