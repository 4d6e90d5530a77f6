package io.snapline.spark.operator.state

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.state.{NoPrefixKeyStateEncoderSpec, StateStore}
import org.apache.spark.sql.execution.streaming.state.snapline.StoreCalls
import org.apache.spark.sql.types.{IntegerType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String

/** The value schemas a state has had, by number; the last is the one in force. */
final case class SchemaHistory(state: String, list: Boolean, schemas: Map[Int, StructType]) {
  def current: Int = schemas.keys.max
}

/** Rewrites the states of a partition whose schema has changed since they were written; once, in the batch that sees
  * the change first.
  *
  * The number of the schema in force is kept in the store, so that it is committed with what it describes.
  */
final class StateMigration(histories: Seq[SchemaHistory], store: StateStore) {
  import StateMigration._

  def run(): Unit = if (histories.nonEmpty) {
    store.createColFamilyIfAbsent(Family, key, value, NoPrefixKeyStateEncoderSpec(key), false, true)
    histories.foreach { history =>
      val name = toKey(InternalRow(UTF8String.fromString(history.state))).copy()
      val noted = store.get(name, Family)
      val written = if (noted == null) 0 else noted.getInt(0)
      if (written != history.current) {
        rewrite(history, history.schemas(written), history.schemas(history.current))
        store.put(name, toValue(InternalRow(history.current)), Family)
      }
    }
  }

  private def rewrite(history: SchemaHistory, old: StructType, now: StructType): Unit = {
    val convert = SchemaChange.projection(old, now)
    if (history.list) {
      val lists = StoreCalls.lists(store, history.state)
      try {
        var key: UnsafeRow = null
        val elements = ArrayBuffer.empty[UnsafeRow]
        def flush(): Unit = {
          if (key != null) store.putList(key, elements.toArray, history.state)
          elements.clear()
        }
        lists.foreach { entry =>
          if (entry.key != key) {
            flush()
            key = entry.key.copy()
          }
          elements += convert(as(old, entry.value)).copy()
        }
        flush()
      } finally lists.close()
    } else {
      val entries = store.iterator(history.state)
      try entries.foreach(entry => store.put(entry.key, convert(as(old, entry.value)), history.state))
      finally entries.close()
    }
  }

  /** The store decodes by the schema in force; the bytes are those of the old one. */
  private def as(schema: StructType, row: UnsafeRow): UnsafeRow = {
    val other = new UnsafeRow(schema.length)
    other.pointTo(row.getBaseObject, row.getBaseOffset, row.getSizeInBytes)
    other
  }

  private lazy val toKey = UnsafeProjection.create(key)
  private lazy val toValue = UnsafeProjection.create(value)
}

private[spark] object StateMigration {
  val Family = "$schema"
  val key: StructType = new StructType().add("state", StringType)
  val value: StructType = new StructType().add("schema", IntegerType)
}
