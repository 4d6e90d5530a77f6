package io.snapline.spark.provider

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.KeyStateEncoderSpec
import org.apache.spark.sql.execution.streaming.state.snapline.RegisteredFamilies
import org.apache.spark.sql.types.StructType

/** The writing half of a store. */
private[provider] abstract class StoreWrites(
    provider: SnaplineProvider,
    stamp: Long,
    useColumnFamilies: Boolean,
    validation: RowValidation
) extends StoreReads(provider, stamp, useColumnFamilies, validation)
    with RegisteredFamilies {

  override def put(key: UnsafeRow, value: UnsafeRow, name: String): Unit = {
    require(key != null, "Key cannot be null")
    require(value != null, "Cannot put a null value")
    val family = using("put", name)
    family.encodeKey(key)
    family.encodeValue(value)
    family.rows.put(family.key.bytes, 0, family.key.length, family.value.bytes, 0, family.value.length)
  }

  override def putList(key: UnsafeRow, values: Array[UnsafeRow], name: String): Unit = {
    val family = encodeList("putList", key, values, name)
    family.rows.put(family.key.bytes, 0, family.key.length, family.value.bytes, 0, family.value.length)
  }

  override def merge(key: UnsafeRow, value: UnsafeRow, name: String): Unit = {
    require(key != null, "Key cannot be null")
    require(value != null, "Cannot merge a null value")
    val family = usingLists("merge", name)
    family.encodeKey(key)
    family.encodeValue(value)
    family.rows.merge(family.key.bytes, 0, family.key.length, family.value.bytes, 0, family.value.length)
  }

  override def mergeList(key: UnsafeRow, values: Array[UnsafeRow], name: String): Unit = {
    val family = encodeList("mergeList", key, values, name)
    family.rows.merge(family.key.bytes, 0, family.key.length, family.value.bytes, 0, family.value.length)
  }

  private def encodeList(operation: String, key: UnsafeRow, values: Array[UnsafeRow], name: String): StateFamily = {
    require(key != null, "Key cannot be null")
    require(values != null && values.forall(_ != null), "Cannot put a null value")
    val family = usingLists(operation, name)
    family.encodeKey(key)
    family.encodeValues(values)
    family
  }

  override def remove(key: UnsafeRow, name: String): Unit = {
    require(key != null, "Key cannot be null")
    val family = using("remove", name)
    family.encodeKey(key)
    family.rows.delete(family.key.bytes, 0, family.key.length): Unit
  }

  override def deleteRange(begin: UnsafeRow, end: UnsafeRow, name: String): Unit = {
    require(begin != null && end != null, "Range keys cannot be null")
    val family = using("deleteRange", name)
    verify(
      family.keys.supportsDeleteRange,
      "deleteRange requires a RangeKeyScanStateEncoderSpec for ordered key encoding"
    )
    family.rows.deleteRange(family.keyOf(begin), family.keyOf(end))
  }

  override def createColFamilyIfAbsent(
      name: String,
      keySchema: StructType,
      valueSchema: StructType,
      spec: KeyStateEncoderSpec,
      useMultipleValuesPerKey: Boolean,
      isInternal: Boolean
  ): Unit = {
    transition(StorePhase.Update)
    checkFamilyChange("create_col_family", name, isInternal)
    val family = provider.families.declare(name, keySchema, valueSchema, spec, useMultipleValuesPerKey, isInternal)
    provider.families.bind(family, provider.state.backend)
  }

  override def removeColFamilyIfExists(name: String): Boolean = {
    transition(StorePhase.Update)
    checkFamilyChange("remove_col_family", name, isInternal = false)
    val removed = provider.state.backend.removeFamily(name)
    if (removed) {
      provider.families.remove(name)
      forgetFamily()
    }
    removed
  }
}
