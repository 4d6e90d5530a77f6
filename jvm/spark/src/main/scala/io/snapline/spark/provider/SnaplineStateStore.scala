package io.snapline.spark.provider

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.execution.streaming.state.snapline.StateInternals
import org.apache.spark.sql.types.StructType
import org.slf4j.LoggerFactory

import io.snapline.snapshot.VersionRef
import io.snapline.spark.SnaplineStateStoreProvider
import io.snapline.state.{BackendMetrics, RowCursor}

/** One version of a store, lent to one task. Owns the provider's stamp until it is committed, aborted or released; a task that ends gives it back by itself.
  */
private[spark] final class SnaplineStateStore(
    val provider: SnaplineStateStoreProvider,
    override val version: Long,
    val stamp: Long,
    private var isReadOnly: Boolean,
    private var forceSnapshot: Boolean,
    useColumnFamilies: Boolean,
    conf: StateStoreConf,
    configuration: Configuration,
    validation: RowValidation
) extends StateStore {
  import StorePhase._

  private val log = LoggerFactory.getLogger(classOf[SnaplineStateStore])
  private val stamps = provider.stamps
  private val state = provider.state
  private val base: Option[VersionRef] = state.current
  private val before: BackendMetrics = state.backend.metrics
  @volatile private var phase: StorePhase = Updating
  private var validated = !validation.enabled
  private var committed: Option[VersionRef] = None
  private var lastMetrics = StateStoreMetrics(0, 0, Map.empty, Map.empty)

  private var lastName: String = _
  private var lastFamily: StateFamily = _

  Option(TaskContext.get()).foreach { task =>
    task.addTaskCompletionListener[Unit] { _ =>
      try if (phase == Updating) { if (isReadOnly) release() else abort() }
      catch { case NonFatal(e) => log.warn(s"Could not give up $this at the end of its task.", e) }
      finally stamps.releaseStamp(stamp, throwEx = false): Unit
    }
    task.addTaskFailureListener((_, _) => if (phase == Updating) abort())
    // The listeners have run already if the task has failed: nothing may be done any more.
    StateInternals.failure(task).foreach(throw _)
  }

  override def id: StateStoreId = provider.stateStoreId

  def readOnly: Boolean = isReadOnly

  private[spark] def upgrade(force: Boolean): Unit = {
    isReadOnly = false
    forceSnapshot = force
  }

  // ---- reading

  override def get(key: UnsafeRow, name: String): UnsafeRow = {
    require(key != null, "Key cannot be null")
    val family = reading("get", name)
    family.encodeKey(key)
    val bytes = family.rows.get(family.key.bytes, 0, family.key.length)
    checked(key, family.decodeValue(family.key.copy, bytes))
  }

  override def multiGet(keys: Array[UnsafeRow], name: String): Iterator[UnsafeRow] = {
    require(keys != null && keys.forall(_ != null), "Keys cannot be null")
    val family = reading("multiGet", name)
    val encoded = keys.map(family.keyOf)
    val found = family.rows.multiGet(encoded)
    encoded.indices.iterator.map(i => family.decodeValue(encoded(i), found(i)))
  }

  override def keyExists(key: UnsafeRow, name: String): Boolean = {
    require(key != null, "Key cannot be null")
    val family = reading("keyExists", name)
    family.encodeKey(key)
    family.rows.contains(family.key.bytes, 0, family.key.length)
  }

  override def valuesIterator(key: UnsafeRow, name: String): Iterator[UnsafeRow] = {
    require(key != null, "Key cannot be null")
    val family = lists("valuesIterator", reading("valuesIterator", name))
    family.encodeKey(key)
    val bytes = family.rows.get(family.key.bytes, 0, family.key.length)
    family.decodeValues(family.key.copy, bytes)
  }

  override def prefixScan(prefix: UnsafeRow, name: String): StateStoreIterator[UnsafeRowPair] =
    pairs(prefixed("prefixScan", prefix, name))

  override def prefixScanWithMultiValues(prefix: UnsafeRow, name: String): StateStoreIterator[UnsafeRowPair] = {
    lists("prefixScanWithMultiValues", reading("prefixScanWithMultiValues", name)): Unit
    listPairs(prefixed("prefixScanWithMultiValues", prefix, name))
  }

  private def prefixed(operation: String, prefix: UnsafeRow, name: String): (StateFamily, RowCursor) = {
    val family = reading(operation, name)
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
    lists("rangeScanWithMultiValues", reading("rangeScanWithMultiValues", name)): Unit
    listPairs(ranged("rangeScanWithMultiValues", start, end, name))
  }

  private def ranged(
      operation: String,
      start: Option[UnsafeRow],
      end: Option[UnsafeRow],
      name: String
  ): (StateFamily, RowCursor) = {
    val family = reading(operation, name)
    require(family.keys.supportsRangeScan, "Range scan requires an encoder that supports range scanning!")
    (family, family.rows.rangeScan(start.map(family.keyOf).orNull, end.map(family.keyOf).orNull))
  }

  override def iterator(name: String): StateStoreIterator[UnsafeRowPair] = {
    val family = reading("iterator", name)
    pairs((family, family.rows.iterate()))
  }

  override def iteratorWithMultiValues(name: String): StateStoreIterator[UnsafeRowPair] = {
    val family = lists("iteratorWithMultiValues", reading("iteratorWithMultiValues", name))
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

  override def allColumnFamilyNames: Set[String] = state.backend.families.map(_.descriptor.name).toSet

  // ---- writing

  override def put(key: UnsafeRow, value: UnsafeRow, name: String): Unit = {
    require(key != null, "Key cannot be null")
    require(value != null, "Cannot put a null value")
    val family = writing("put", name)
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
    val family = lists("merge", writing("merge", name))
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
    val family = lists(operation, writing(operation, name))
    family.encodeKey(key)
    family.encodeValues(values)
    family
  }

  override def remove(key: UnsafeRow, name: String): Unit = {
    require(key != null, "Key cannot be null")
    val family = writing("remove", name)
    family.encodeKey(key)
    family.rows.delete(family.key.bytes, 0, family.key.length): Unit
  }

  override def deleteRange(begin: UnsafeRow, end: UnsafeRow, name: String): Unit = {
    require(begin != null && end != null, "Range keys cannot be null")
    val family = writing("deleteRange", name)
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
    transition(Update)
    checkFamilyChange("create_col_family", name, isInternal)
    val family = provider.families.declare(name, keySchema, valueSchema, spec, useMultipleValuesPerKey, isInternal)
    provider.families.bind(family, state.backend)
  }

  override def removeColFamilyIfExists(name: String): Boolean = {
    transition(Update)
    checkFamilyChange("remove_col_family", name, isInternal = false)
    val removed = state.backend.removeFamily(name)
    if (removed) {
      provider.families.remove(name)
      lastName = null
    }
    removed
  }

  // ---- end

  override def commit(): Long = synchronized {
    expect(Updating)
    try {
      stamps.verifyStamp(stamp)
      val ref = state.commit(forceSnapshot)
      committed = Some(ref)
      lastMetrics = measure()
      transition(Commit)
      if (conf.commitValidationEnabled) StateStore.reportCommitToCoordinator(ref.version, id, configuration)
      ref.version
    } catch { case e: Throwable => throw StateInternals.cannotCommit(toString, e) }
  }

  override def abort(): Unit = {
    expect(Updating, Aborted)
    if (phase != Aborted) {
      try {
        transition(Abort)
        state.abort()
      } finally stamps.releaseStamp(stamp, throwEx = false): Unit
    }
  }

  override def release(): Unit = {
    if (!isReadOnly) throw new IllegalStateException("Release can only be called on a read-only store")
    if (phase != Released) transition(Release)
  }

  override def hasCommitted: Boolean = phase == Committed

  override def metrics: StateStoreMetrics = {
    checkEnded()
    lastMetrics
  }

  private def measure(): StateStoreMetrics = {
    val now = state.backend.metrics
    val all = state.backend.families
    val (internal, external) = all.partition(_.descriptor.internal)
    StateStoreMetrics(
      external.map(_.keyCount).sum,
      now.tableBytes + now.nativeBytes,
      ProviderMetrics.of(
        now,
        before,
        state.stats,
        internal.map(_.keyCount).sum,
        if (useColumnFamilies) (external.size, internal.size) else (0, 0),
        forceSnapshot
      ),
      Map(ProviderMetrics.lastSnapshot.withNewId(id.partitionId, id.storeName) -> state.stats.snapshotVersion)
    )
  }

  override def getStateStoreCheckpointInfo(): StateStoreCheckpointInfo = {
    checkEnded()
    val ref = committed.getOrElse {
      throw StateStoreErrors.stateStoreOperationOutOfOrder("Cannot get checkpointInfo without committing the store")
    }
    val ids = conf.enableStateStoreCheckpointIds
    StateStoreCheckpointInfo(
      id.partitionId,
      ref.version,
      if (ids) Some(ref.uid) else None,
      if (ids) base.map(_.uid) else None
    )
  }

  override def toString: String = s"SnaplineStateStore[stateStoreId=$id, version=$version]"

  // ---- checks

  private def reading(operation: String, name: String): StateFamily = {
    transition(Update)
    familyOf(operation, name)
  }

  private def writing(operation: String, name: String): StateFamily = {
    transition(Update)
    familyOf(operation, name)
  }

  private def familyOf(operation: String, name: String): StateFamily =
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

  private def lists(operation: String, family: StateFamily): StateFamily = {
    verify(family.multi, s"$operation requires an encoder that supports multiple values for a single key")
    family
  }

  private def checkFamilyChange(operation: String, name: String, isInternal: Boolean): Unit = {
    if (!useColumnFamilies) throw StateStoreErrors.unsupportedOperationException(operation, StateFamily.OneFamily)
    if (name.isEmpty || name.trim != name || (name == StateStore.DEFAULT_COL_FAMILY_NAME && !isInternal)) {
      throw StateStoreErrors.cannotUseColumnFamilyWithInvalidName(operation, name)
    }
    if (!isInternal && name.charAt(0) == '$') throw StateStoreErrors.cannotCreateColumnFamilyWithReservedChars(name)
  }

  private def verify(condition: Boolean, message: String): Unit =
    if (!condition) throw new IllegalStateException(message)

  private def expect(phases: StorePhase*): Unit = if (!phases.contains(phase)) {
    throw StateStoreErrors.stateStoreOperationOutOfOrder(
      s"Expected possible states ${phases.mkString("(", ", ", ")")} but found $phase"
    )
  }

  private def checkEnded(): Unit =
    if (phase == Updating) throw StateStoreErrors.stateStoreOperationOutOfOrder(s"Cannot get metrics in $phase state")

  /** Every use of the store passes here: it must be open, and this task's. */
  private def transition(operation: Operation): Unit = {
    stamps.verifyStamp(stamp)
    if (phase != Updating)
      throw StateStoreErrors.stateStoreOperationOutOfOrder(s"Cannot ${operation.verb} after $phase")
    if (operation ne Update) {
      if (operation ne Abort) stamps.releaseStamp(stamp): Unit
      phase = operation.leadsTo
    }
  }
}
