package io.snapline.spark.provider

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.execution.streaming.state.snapline.{StateEncoders, StateInternals}
import org.apache.spark.sql.types.{MapType, StructType}
import org.apache.spark.unsafe.Platform

/** Finds the columns of a state key that Spark's shuffle hashed, as far as the key's encoder and the state's name tell.
  *
  * The operators do not tell a provider; this follows the layouts of Spark's state managers
  * (`StatePartitionKeyExtractorFactory`).
  */
private[provider] object PartitionKey {

  /** Expressions over the key row; None where keys have to keep their order over the whole partition. */
  def of(store: String, family: String, spec: KeyStateEncoderSpec): Option[Seq[Expression]] = {
    val schema = spec.keySchema
    spec match {
      case NoPrefixKeyStateEncoderSpec(_) if Seq(store, family).exists(_.endsWith("keyWithIndexToValue")) =>
        Some(columns(schema, schema.length - 1))
      case NoPrefixKeyStateEncoderSpec(_) => Some(columns(schema, schema.length))
      case PrefixKeyScanStateEncoderSpec(_, prefix) => Some(ofPrefix(family, schema, prefix))
      case _ if StateEncoders.endInTime(spec) => Some(columns(schema, schema.length - 1))
      // Keys in the order of a time or of a range.
      case _ => None
    }
  }

  /** transformWithState wraps the grouping key into one struct column; its families have names of their own. */
  private def ofPrefix(family: String, schema: StructType, prefix: Int): Seq[Expression] =
    schema.head.dataType match {
      case key: StructType if prefix == 1 && family != StateStore.DEFAULT_COL_FAMILY_NAME =>
        val struct = BoundReference(0, key, nullable = false)
        key.fields.toSeq.indices.map(i => GetStructField(struct, i))
      case _ => columns(schema, prefix)
    }

  private def columns(schema: StructType, count: Int): Seq[Expression] =
    schema.fields.toSeq.take(count).zipWithIndex.map { case (field, i) =>
      BoundReference(i, field.dataType, field.nullable)
    }
}

/** Computes the key group of a key row, with the hash of Spark's shuffle. One thread. */
private[provider] final class KeyGroupOf(partitionKey: Seq[Expression], maxParallelism: Int) {
  private val projection =
    UnsafeProjection.create(Seq(HashPartitioning(partitionKey, maxParallelism).partitionIdExpression))

  def apply(key: UnsafeRow): Int = projection(key).getInt(0)
}

private[provider] object KeyGroupOf {

  def create(store: String, family: String, spec: KeyStateEncoderSpec, maxParallelism: Int): Option[KeyGroupOf] =
    PartitionKey
      .of(store, family, spec)
      // Spark refuses to hash maps, so nothing was shuffled by one.
      .filter(_.nonEmpty)
      .filter(_.forall(e => !StateInternals.contains(e.dataType, _.isInstanceOf[MapType])))
      .map(new KeyGroupOf(_, maxParallelism))
}

/** A growing buffer that rows are encoded into, used again for every row. One thread. */
private[provider] final class KeyBytes {
  var bytes = new Array[Byte](256)
  var length = 0

  def ensure(size: Int): Unit = if (bytes.length < size) bytes = new Array[Byte](Integer.highestOneBit(size) * 2)

  def set(prefix: Int, encoded: Array[Byte]): Unit = {
    length = prefix + encoded.length
    ensure(length)
    System.arraycopy(encoded, 0, bytes, prefix, encoded.length)
  }

  /** Spark's plain encoding: a version byte, 0, and the row's own bytes. */
  def setRow(prefix: Int, row: UnsafeRow): Unit = {
    val size = row.getSizeInBytes
    length = prefix + 1 + size
    ensure(length)
    bytes(prefix) = 0
    Platform.copyMemory(
      row.getBaseObject,
      row.getBaseOffset,
      bytes,
      Platform.BYTE_ARRAY_OFFSET + prefix + 1L,
      size.toLong
    )
  }

  def copy: Array[Byte] = java.util.Arrays.copyOf(bytes, length)
}
