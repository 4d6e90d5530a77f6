package io.snapline.spark.provider

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._

import io.snapline.state.RowCursor

/** The reading half of a store. */
private[provider] abstract class StoreReads(
    provider: SnaplineProvider,
    stamp: Long,
    useColumnFamilies: Boolean,
    validation: RowValidation
) extends StoreAccess(provider, stamp, useColumnFamilies) {
  private var validated = !validation.enabled

  override def get(key: UnsafeRow, name: String): UnsafeRow = {
    require(key != null, "Key cannot be null")
    val family = using("get", name)
    family.encodeKey(key)
    val bytes = family.rows.get(family.key.bytes, 0, family.key.length)
    checked(key, family.decodeValue(family.key.copy, bytes))
  }

  override def multiGet(keys: Array[UnsafeRow], name: String): Iterator[UnsafeRow] = {
    require(keys != null && keys.forall(_ != null), "Keys cannot be null")
    val family = using("multiGet", name)
    val encoded = keys.map(family.keyOf)
    val found = family.rows.multiGet(encoded)
    encoded.indices.iterator.map(i => family.decodeValue(encoded(i), found(i)))
  }

  override def keyExists(key: UnsafeRow, name: String): Boolean = {
    require(key != null, "Key cannot be null")
    val family = using("keyExists", name)
    family.encodeKey(key)
    family.rows.contains(family.key.bytes, 0, family.key.length)
  }

  override def valuesIterator(key: UnsafeRow, name: String): Iterator[UnsafeRow] = {
    require(key != null, "Key cannot be null")
    val family = usingLists("valuesIterator", name)
    family.encodeKey(key)
    val bytes = family.rows.get(family.key.bytes, 0, family.key.length)
    family.decodeValues(family.key.copy, bytes)
  }

  override def prefixScan(prefix: UnsafeRow, name: String): StateStoreIterator[UnsafeRowPair] =
    pairs(prefixed("prefixScan", prefix, name))

  override def prefixScanWithMultiValues(prefix: UnsafeRow, name: String): StateStoreIterator[UnsafeRowPair] = {
    usingLists("prefixScanWithMultiValues", name): Unit
    listPairs(prefixed("prefixScanWithMultiValues", prefix, name))
  }

  private def prefixed(operation: String, prefix: UnsafeRow, name: String): (StateFamily, RowCursor) = {
    val family = using(operation, name)
    require(family.keys.supportPrefixKeyScan, "Prefix scan requires setting prefix key!")
    (family, family.rows.prefixScan(family.prefixOf(prefix)))
  }

  override def rangeScan(
      start: Option[UnsafeRow],
      end: Option[UnsafeRow],
      name: String
  ): StateStoreIterator[UnsafeRowPair] = pairs(ranged("rangeScan", start, end, name))

  override def rangeScanWithMultiValues(
      start: Option[UnsafeRow],
      end: Option[UnsafeRow],
      name: String
  ): StateStoreIterator[UnsafeRowPair] = {
    usingLists("rangeScanWithMultiValues", name): Unit
    listPairs(ranged("rangeScanWithMultiValues", start, end, name))
  }

  private def ranged(
      operation: String,
      start: Option[UnsafeRow],
      end: Option[UnsafeRow],
      name: String
  ): (StateFamily, RowCursor) = {
    val family = using(operation, name)
    require(family.keys.supportsRangeScan, "Range scan requires an encoder that supports range scanning!")
    (family, family.rows.rangeScan(start.map(family.keyOf).orNull, end.map(family.keyOf).orNull))
  }

  override def iterator(name: String): StateStoreIterator[UnsafeRowPair] = {
    val family = using("iterator", name)
    pairs((family, family.rows.iterate()))
  }

  override def iteratorWithMultiValues(name: String): StateStoreIterator[UnsafeRowPair] = {
    val family = usingLists("iteratorWithMultiValues", name)
    listPairs((family, family.rows.iterate()))
  }

  private def pairs(scan: (StateFamily, RowCursor)): StateStoreIterator[UnsafeRowPair] =
    RowScan.pairs(scan._1, scan._2, (key, value) => checked(key, value): Unit)

  private def listPairs(scan: (StateFamily, RowCursor)): StateStoreIterator[UnsafeRowPair] =
    RowScan.listPairs(scan._1, scan._2)

  private def checked(key: UnsafeRow, value: UnsafeRow): UnsafeRow = {
    if (!validated && value != null) {
      validation.check(key, value)
      validated = true
    }
    value
  }

  override def allColumnFamilyNames: Set[String] = provider.state.backend.families.map(_.descriptor.name).toSet
}
