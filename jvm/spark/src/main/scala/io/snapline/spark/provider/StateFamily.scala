package io.snapline.spark.provider

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.execution.streaming.state.snapline.{RowChecksums, StateEncoders}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.Platform

import io.snapline.keygroup.KeyGroups
import io.snapline.state.{ColumnFamily, PrefixLength}

/** Spark's encoders of a state's rows.
  *
  * @param plain
  *   whether rows are stored as they are (UnsafeRow encoding)
  */
private[provider] final case class RowEncoding(
    keys: RocksDBKeyStateEncoder,
    values: RocksDBValueStateEncoder,
    plain: Boolean
)

/** Translates between Spark's rows and a column family's bytes, one for each state of a store.
  *
  * Rows that come back are reused by the next call, as in Spark's providers. One thread.
  *
  * @param keyGroup
  *   None: keys carry no key group
  * @param checksums
  *   None: rows carry no checksum
  */
private[spark] final class StateFamily(
    val name: String,
    val internal: Boolean,
    spec: KeyStateEncoderSpec,
    valueSchema: StructType,
    encoding: RowEncoding,
    keyGroup: Option[KeyGroupOf],
    checksums: Option[RowChecksums]
) {
  val keys: RocksDBKeyStateEncoder = encoding.keys
  private val values = encoding.values
  val multi: Boolean = values.supportsMultipleValuesPerKey
  val hasKeyGroups: Boolean = keyGroup.isDefined
  private val prefix = if (hasKeyGroups) KeyGroups.PrefixBytes else 0
  private val groupOf = keyGroup.orNull
  private val plainKey = encoding.plain && spec.isInstanceOf[NoPrefixKeyStateEncoderSpec]
  private val plainValue = encoding.plain && !multi && checksums.isEmpty
  private val keyRow = new UnsafeRow(spec.keySchema.length)
  private val valueRow = new UnsafeRow(valueSchema.length)

  /** The key and the value encoded last. */
  val key = new KeyBytes
  val value = new KeyBytes

  /** The column family in the backend that is loaded; bound anew after every load. */
  var rows: ColumnFamily = _

  /** Null: rows are not scanned by prefix. */
  val prefixLength: PrefixLength = spec match {
    // The encoder writes the length of the prefix before it, in the machine's order of bytes.
    case _: PrefixKeyScanStateEncoderSpec =>
      (key, offset, _) => prefix + 4 + Platform.getInt(key, Platform.BYTE_ARRAY_OFFSET + offset + prefix.toLong)
    case _ if StateEncoders.endInTime(spec) => (_, _, length) => length - 8
    case _ => null
  }

  def encodeKey(row: UnsafeRow): Unit = {
    if (plainKey) key.setRow(prefix, row) else key.set(prefix, keys.encodeKey(row))
    if (groupOf != null) KeyGroups.write(groupOf(row), key.bytes, 0)
  }

  /** A key of its own, for ranges and lists of keys. */
  def keyOf(row: UnsafeRow): Array[Byte] = {
    encodeKey(row)
    key.copy
  }

  /** The bytes all keys with these leading columns begin with. */
  def prefixOf(row: UnsafeRow): Array[Byte] = {
    val encoded = keys.encodePrefixKey(row)
    val bytes = new Array[Byte](prefix + encoded.length)
    System.arraycopy(encoded, 0, bytes, prefix, encoded.length)
    if (groupOf != null) KeyGroups.write(groupOf(row), bytes, 0)
    bytes
  }

  def decodeKey(bytes: Array[Byte]): UnsafeRow =
    if (plainKey) {
      pointAtKey(keyRow, bytes)
      keyRow
    } else keys.decodeKey(if (prefix == 0) bytes else java.util.Arrays.copyOfRange(bytes, prefix, bytes.length))

  /** Whether `pointAtKey` and `pointAtValue` can be used: rows are stored as they are. */
  def keysArePlain: Boolean = plainKey
  def valuesArePlain: Boolean = plainValue

  def keySchema: StructType = spec.keySchema

  /** Rows to be pointed at stored keys and values. */
  def emptyKey: UnsafeRow = new UnsafeRow(spec.keySchema.length)
  def emptyValue: UnsafeRow = new UnsafeRow(valueSchema.length)

  def pointAtKey(row: UnsafeRow, bytes: Array[Byte]): Unit =
    row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET + prefix + 1L, bytes.length - prefix - 1)

  def pointAtValue(row: UnsafeRow, bytes: Array[Byte]): Unit =
    row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET + 1L, bytes.length - 1)

  /** After `encodeKey`: a checksum covers both. */
  def encodeValue(row: UnsafeRow): Unit =
    if (plainValue) value.setRow(0, row) else value.set(0, encoded(row))

  def encodeValues(list: Array[UnsafeRow]): Unit = {
    val parts = list.map(encoded)
    value.length = parts.map(_.length).sum
    value.ensure(value.length)
    var at = 0
    parts.foreach { part =>
      System.arraycopy(part, 0, value.bytes, at, part.length)
      at += part.length
    }
  }

  private def encoded(row: UnsafeRow): Array[Byte] = {
    val bytes = values.encodeValue(row)
    checksums.fold(bytes)(_.add(key.copy, bytes))
  }

  /** Null for null. The first of a list. */
  def decodeValue(keyBytes: => Array[Byte], bytes: Array[Byte]): UnsafeRow =
    if (bytes == null) null
    else if (plainValue) {
      pointAtValue(valueRow, bytes)
      valueRow
    } else values.decodeValue(verified(keyBytes, bytes))

  def decodeValues(keyBytes: => Array[Byte], bytes: Array[Byte]): Iterator[UnsafeRow] =
    if (bytes == null) Iterator.empty else values.decodeValues(verified(keyBytes, bytes))

  private def verified(keyBytes: => Array[Byte], bytes: Array[Byte]): Array[Byte] =
    checksums.fold(bytes)(_.remove(keyBytes, bytes))
}

private[provider] object StateFamily {

  val OneFamily = "multiple column families is disabled in SnaplineStateStoreProvider"
}
