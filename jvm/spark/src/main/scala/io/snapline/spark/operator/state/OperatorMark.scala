package io.snapline.spark.operator.state

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.state.{NoPrefixKeyStateEncoderSpec, StateStore}
import org.apache.spark.sql.types.{IntegerType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String

/** The mark of a partition whose function has run: from then on its operator state is one that is gone on with. */
object OperatorMark {
  val Family = "$operator"
  private val key = new StructType().add("state", StringType)
  private val value = new StructType().add("parallelism", IntegerType)

  val columnFamily: KeyedFamily =
    KeyedFamily(Family, key, value, NoPrefixKeyStateEncoderSpec(key), lists = false, None)

  def isIn(store: StateStore): Boolean = store.get(restored, Family) != null

  def put(store: StateStore, parallelism: Int): Unit =
    store.put(restored, UnsafeProjection.create(value).apply(InternalRow(parallelism)), Family)

  private def restored: UnsafeRow =
    UnsafeProjection.create(key).apply(InternalRow(UTF8String.fromString("restored")))
}
