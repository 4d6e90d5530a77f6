package io.snapline.bench

import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.StructType

/** A state store that stores nothing: every read misses, every write is dropped, and a commit touches no disk. The same
  * query on it costs what Spark costs without state; the rest of a provider's cost is its state part.
  */
class NullStateStoreProvider extends StateStoreProvider {
  private var id: StateStoreId = _
  private var reportsCommits = false
  private var usesCheckpointIds = false
  private var hadoopConf: Configuration = _

  override def init(
      stateStoreId: StateStoreId,
      keySchema: StructType,
      valueSchema: StructType,
      keyStateEncoderSpec: KeyStateEncoderSpec,
      useColumnFamilies: Boolean,
      storeConfs: StateStoreConf,
      hadoopConf: Configuration,
      useMultipleValuesPerKey: Boolean,
      stateSchemaProvider: Option[StateSchemaProvider]
  ): Unit = {
    id = stateStoreId
    reportsCommits = storeConfs.commitValidationEnabled
    usesCheckpointIds = storeConfs.enableStateStoreCheckpointIds
    this.hadoopConf = hadoopConf
  }

  override def stateStoreId: StateStoreId = id

  override def close(): Unit = ()

  override def getStore(
      version: Long,
      stateStoreCkptId: Option[String],
      forceSnapshotOnCommit: Boolean,
      loadEmpty: Boolean
  ): StateStore = new NullStateStore(version, stateStoreCkptId)

  private class NullStateStore(val version: Long, baseCkptId: Option[String]) extends StateStore {
    private var committed = false
    private lazy val ckptId = if (usesCheckpointIds) Some(UUID.randomUUID().toString) else None

    private def nothing: StateStoreIterator[UnsafeRowPair] = new StateStoreIterator(Iterator.empty)

    override def id: StateStoreId = stateStoreId

    override def get(key: UnsafeRow, colFamilyName: String): UnsafeRow = null
    override def multiGet(keys: Array[UnsafeRow], colFamilyName: String): Iterator[UnsafeRow] =
      Iterator.fill(keys.length)(null)
    override def valuesIterator(key: UnsafeRow, colFamilyName: String): Iterator[UnsafeRow] = Iterator.empty
    override def iterator(colFamilyName: String): StateStoreIterator[UnsafeRowPair] = nothing
    override def iteratorWithMultiValues(colFamilyName: String): StateStoreIterator[UnsafeRowPair] = nothing
    override def prefixScan(prefixKey: UnsafeRow, colFamilyName: String): StateStoreIterator[UnsafeRowPair] = nothing
    override def prefixScanWithMultiValues(
        prefixKey: UnsafeRow,
        colFamilyName: String
    ): StateStoreIterator[UnsafeRowPair] = nothing
    override def rangeScan(
        startKey: Option[UnsafeRow],
        endKey: Option[UnsafeRow],
        colFamilyName: String
    ): StateStoreIterator[UnsafeRowPair] = nothing
    override def rangeScanWithMultiValues(
        startKey: Option[UnsafeRow],
        endKey: Option[UnsafeRow],
        colFamilyName: String
    ): StateStoreIterator[UnsafeRowPair] = nothing

    override def put(key: UnsafeRow, value: UnsafeRow, colFamilyName: String): Unit = ()
    override def putList(key: UnsafeRow, values: Array[UnsafeRow], colFamilyName: String): Unit = ()
    override def merge(key: UnsafeRow, value: UnsafeRow, colFamilyName: String): Unit = ()
    override def mergeList(key: UnsafeRow, values: Array[UnsafeRow], colFamilyName: String): Unit = ()
    override def remove(key: UnsafeRow, colFamilyName: String): Unit = ()
    override def deleteRange(beginKey: UnsafeRow, endKey: UnsafeRow, colFamilyName: String): Unit = ()

    override def createColFamilyIfAbsent(
        colFamilyName: String,
        keySchema: StructType,
        valueSchema: StructType,
        keyStateEncoderSpec: KeyStateEncoderSpec,
        useMultipleValuesPerKey: Boolean,
        isInternal: Boolean
    ): Unit = ()
    override def removeColFamilyIfExists(colFamilyName: String): Boolean = false
    override def allColumnFamilyNames: Set[String] = Set(StateStore.DEFAULT_COL_FAMILY_NAME)

    override def commit(): Long = {
      committed = true
      if (reportsCommits) StateStore.reportCommitToCoordinator(version + 1, id, hadoopConf)
      version + 1
    }
    override def abort(): Unit = ()
    override def release(): Unit = ()
    override def hasCommitted: Boolean = committed
    override def metrics: StateStoreMetrics = StateStoreMetrics(0, 0, Map.empty)
    override def getStateStoreCheckpointInfo(): StateStoreCheckpointInfo =
      StateStoreCheckpointInfo(id.partitionId, version + 1, ckptId, baseCkptId)
  }
}
