package io.snapline.spark.provider

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.execution.streaming.state.snapline.{StateEncoders, StoreBase}
import org.apache.spark.sql.types.StructType

import io.snapline.state.{ColumnFamily, RowCursor}

/** Rows of a store, read and written. Before each use the store must be open, its stamp this task's, and the state of
  * that name there.
  *
  * A base class of the store, not a part of it: a row takes no step more.
  *
  * @param stamp
  *   the provider's stamp, which one task at a time holds
  */
private[provider] abstract class StoreRows(
    val provider: SnaplineProvider,
    val stamp: Long,
    useColumnFamilies: Boolean,
    validation: RowValidation
) extends StoreBase {
  import StorePhase._

  protected val stamps: RocksDBStateMachine = provider.stamps
  @volatile protected var phase: StorePhase = Updating
  private var validated = !validation.enabled
  private var lastName: String = _
  private var lastFamily: StateFamily = _

  /** Null: nothing is known of what the operator removes. */
  private var evictors: Array[Evictor] = _

  /** The operator asks for all rows of states to remove those whose time has come. */
  private[provider] def evictWith(by: Seq[Evictor]): Unit = if (by.nonEmpty) evictors = by.toArray

  /** Spark shows the figures of a join's store with values, and not of the one with counts. */
  protected final def rowsReadForEviction: Long =
    if (evictors == null) 0
    else
      evictors.filter(by => by.timed != null && provider.families.declared(by.timed.name).exists(_ eq by.timed))
        .map(_.rowsRead).sum

  override def id: StateStoreId = provider.stateStoreId

  // ---- reads

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
    require(StateEncoders.supportRanges(family.keys), "Range scan requires an encoder that supports range scanning!")
    (family, family.rows.rangeScan(start.map(family.keyOf).orNull, end.map(family.keyOf).orNull))
  }

  override def iterator(name: String): StateStoreIterator[UnsafeRowPair] = {
    val family = using("iterator", name)
    val evictor = if (evictors == null) null else evictors.find(_.asked eq family).orNull
    if (evictor != null) evictor.iterator((key, value) => checked(key, value): Unit)
    else pairs((family, family.rows.iterate()))
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

  override def allColumnFamilyNames: Set[String] = stored.map(_.descriptor.name).toSet

  /** The states that the version has, declared or not. */
  private[spark] def stored: Seq[ColumnFamily] = provider.state.backend.families

  // ---- writes

  override def put(key: UnsafeRow, value: UnsafeRow, name: String): Unit = {
    require(key != null, "Key cannot be null")
    require(value != null, "Cannot put a null value")
    val family = using("put", name)
    val evictor = if (evictors == null) null else evictors.find(_.timed eq family).orNull
    if (evictor != null) evictor.put(key, value)
    else {
      family.encodeKey(key)
      family.encodeValue(value)
      family.rows.put(family.key.bytes, 0, family.key.length, family.value.bytes, 0, family.value.length)
    }
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
      StateEncoders.supportDeletedRanges(family.keys),
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
    transition(Update)
    checkFamilyChange("create_col_family", name, isInternal)
    val family = provider.families.declare(name, keySchema, valueSchema, spec, useMultipleValuesPerKey, isInternal)
    provider.families.bind(family, provider.state.backend)
  }

  override def removeColFamilyIfExists(name: String): Boolean = {
    transition(Update)
    checkFamilyChange("remove_col_family", name, isInternal = false)
    removeFamily(name)
  }

  /** Those of Snapline's own too, which Spark's interface does not let anybody remove. */
  private[spark] def removeFamily(name: String): Boolean = {
    transition(Update)
    val removed = provider.state.backend.removeFamily(name)
    if (removed) {
      provider.families.remove(name)
      forgetFamily()
    }
    removed
  }

  // ---- checks

  /** The state of that name, for one operation. */
  protected final def using(operation: String, name: String): StateFamily = {
    transition(Update)
    if (name eq lastName) lastFamily
    else {
      if (name != StateStore.DEFAULT_COL_FAMILY_NAME) {
        if (!useColumnFamilies) throw StateStoreErrors.unsupportedOperationException(operation, StateFamily.OneFamily)
        if (name.isEmpty || name.trim != name) {
          throw StateStoreErrors.cannotUseColumnFamilyWithInvalidName(operation, name)
        }
      }
      val family = provider.families.get(name).getOrElse {
        throw StateStoreErrors.unsupportedOperationOnMissingColumnFamily(operation, name)
      }
      lastName = name
      lastFamily = family
      family
    }
  }

  protected final def forgetFamily(): Unit = lastName = null

  /** As `using`, where the state has to hold lists. */
  protected final def usingLists(operation: String, name: String): StateFamily = {
    val family = using(operation, name)
    verify(family.multi, s"$operation requires an encoder that supports multiple values for a single key")
    family
  }

  protected final def checkFamilyChange(operation: String, name: String, isInternal: Boolean): Unit = {
    if (!useColumnFamilies) throw StateStoreErrors.unsupportedOperationException(operation, StateFamily.OneFamily)
    if (name.isEmpty || name.trim != name || (name == StateStore.DEFAULT_COL_FAMILY_NAME && !isInternal)) {
      throw StateStoreErrors.cannotUseColumnFamilyWithInvalidName(operation, name)
    }
    if (!isInternal && name.charAt(0) == '$') throw StateStoreErrors.cannotCreateColumnFamilyWithReservedChars(name)
  }

  protected final def verify(condition: Boolean, message: String): Unit =
    if (!condition) throw new IllegalStateException(message)

  protected final def expect(phases: StorePhase*): Unit = if (!phases.contains(phase)) {
    throw StateStoreErrors.stateStoreOperationOutOfOrder(
      s"Expected possible states ${phases.mkString("(", ", ", ")")} but found $phase"
    )
  }

  protected final def checkEnded(): Unit =
    if (phase == Updating) throw StateStoreErrors.stateStoreOperationOutOfOrder(s"Cannot get metrics in $phase state")

  protected final def transition(operation: Operation): Unit = {
    stamps.verifyStamp(stamp)
    if (phase != Updating)
      throw StateStoreErrors.stateStoreOperationOutOfOrder(s"Cannot ${operation.verb} after $phase")
    if (operation ne Update) {
      if (operation ne Abort) stamps.releaseStamp(stamp): Unit
      phase = operation.leadsTo
    }
  }
}
