package org.apache.spark.sql.execution.streaming.state
package undertest

import java.util.UUID

import org.apache.hadoop.conf.Configuration

import org.apache.spark.sql.execution.datasources.v2.state._
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.types.StructType

// Spark's suites with the provider replaced. The file groups says which are run together.

// ---- the provider set by conf

class Aggregation extends StreamingAggregationSuite with UnderTest
class AggregationFormat2 extends StreamingAggregationSuite with UnderTest with CheckpointFormat2
class AggregationRowChecksum extends StreamingAggregationSuite with UnderTest with EnableStateStoreRowChecksum
class Deduplication extends StreamingDeduplicationSuite with UnderTest
class DeduplicationFormat2 extends StreamingDeduplicationSuite with UnderTest with CheckpointFormat2
class DeduplicationRowChecksum extends StreamingDeduplicationSuite with UnderTest with EnableStateStoreRowChecksum
class DeduplicationWithinWatermark extends StreamingDeduplicationWithinWatermarkSuite with UnderTest
class DeduplicationWithinWatermarkFormat2
    extends StreamingDeduplicationWithinWatermarkSuite
    with UnderTest
    with CheckpointFormat2
class SessionWindow extends StreamingSessionWindowSuite with UnderTest
class SessionWindowFormat2 extends StreamingSessionWindowSuite with UnderTest with CheckpointFormat2
class FlatMapGroups extends FlatMapGroupsWithStateSuite with UnderTest
class FlatMapGroupsInitialState extends FlatMapGroupsWithStateWithInitialStateSuite with UnderTest
class MultiStatefulOperators extends MultiStatefulOperatorsSuite with UnderTest
class EventTimeWatermark extends EventTimeWatermarkSuite with UnderTest
class CheckpointFormatV2 extends RocksDBStateStoreCheckpointFormatV2Suite with WithExtension
class Integration extends RocksDBStateStoreIntegrationSuite with UnderTest

class InnerJoin extends StreamingInnerJoinWithoutVCFSuite with UnderTest
class InnerJoinFormat2 extends StreamingInnerJoinWithoutVCFSuite with UnderTest with CheckpointFormat2
class OuterJoin extends StreamingOuterJoinWithoutVCFSuite with UnderTest
class OuterJoinRowChecksum extends StreamingOuterJoinWithoutVCFSuite with UnderTest with EnableStateStoreRowChecksum
class FullOuterJoin extends StreamingFullOuterJoinWithoutVCFSuite with UnderTest
class LeftSemiJoin extends StreamingLeftSemiJoinWithoutVCFSuite with UnderTest

// State format 3: virtual column families.
class InnerJoinV3 extends StreamingInnerJoinWithVCFSuite with UnderTest
class OuterJoinV3 extends StreamingOuterJoinWithVCFSuite with UnderTest
class FullOuterJoinV3 extends StreamingFullOuterJoinWithVCFSuite with UnderTest
class LeftSemiJoinV3 extends StreamingLeftSemiJoinWithVCFSuite with UnderTest

// State format 4: event time in the key.
class InnerJoinV4 extends StreamingInnerJoinV4Suite with UnderTest
class OuterJoinV4 extends StreamingOuterJoinV4Suite with UnderTest
class FullOuterJoinV4 extends StreamingFullOuterJoinV4Suite with UnderTest
class LeftSemiJoinV4 extends StreamingLeftSemiJoinV4Suite with UnderTest

// ---- the state data source

/** Tests of Spark's subclasses that need no golden checkpoint of Spark's providers are repeated here. */
abstract class DataSourceRead(checkpointFormat: Int) extends StateDataSourceReadSuite with UnderTest {
  override protected def newStateStoreProvider(): StateStoreProvider = UnderTest.newProvider()

  override def beforeAll(): Unit = {
    super.beforeAll()
    spark.conf.set(SQLConf.STATE_STORE_CHECKPOINT_FORMAT_VERSION, checkpointFormat)
    spark.conf.set(SQLConf.STATE_STORE_MIN_DELTAS_FOR_SNAPSHOT.key, 2) // a snapshot every other version
  }

  test("ERROR: snapshot of version not found")(testSnapshotNotFound())
  test("provider.replayReadStoreFromSnapshot(snapshotVersion, endVersion)")(testGetReadStoreWithStartVersion())
  test("option snapshotPartitionId")(testSnapshotPartitionId())

  // Spark's RocksDB provider makes the first snapshot a version early; these tests start from that one.
  private def withAllSnapshots(body: => Unit): Unit =
    withSQLConf(SQLConf.STATE_STORE_MIN_DELTAS_FOR_SNAPSHOT.key -> "1")(body)

  test("snapshotStartBatchId on join state v3")(withAllSnapshots(testSnapshotOnJoinStateV3()))
  test("snapshotStartBatchId on join state v4")(withAllSnapshots(testSnapshotOnJoinStateV4()))
}

class DataSourceReadV1 extends DataSourceRead(1)
class DataSourceReadV2 extends DataSourceRead(2)

class ChangeFeedV1 extends StateDataSourceChangeDataReaderSuite with UnderTest {
  override protected def newStateStoreProvider(): StateStoreProvider = UnderTest.newProvider()
}
class ChangeFeedV2 extends ChangeFeedV1 with CheckpointFormat2

/** One test of the subclass for Spark's RocksDB provider. */
class ChangeFeedJoinV4 extends RocksDBWithChangelogCheckpointStateDataSourceChangeDataReaderSuite with UnderTest {
  override protected def alsoSkip: Seq[String] = testNames.filterNot(_.contains("join v4")).toSeq
  override protected def newStateStoreProvider(): RocksDBStateStoreProvider = new Disguise
}

class DataSourceTransformWithState extends StateDataSourceTransformWithStateSuite with WithExtension
class DataSourceTransformWithStateV2 extends StateDataSourceTransformWithStateSuiteCheckpointV2 with WithExtension

// ---- transformWithState by conf, through the session extension

class TwsUnsafeRow extends TransformWithStateUnsafeRowSuite with WithExtension
class TwsAvro extends TransformWithStateAvroSuite with WithExtension
class TwsValidation extends TransformWithStateValidationSuite with WithExtension
class TwsValueTtl extends TransformWithValueStateTTLSuite with WithExtension
class TwsListTtl extends TransformWithListStateTTLSuite with WithExtension
class TwsMapTtl extends TransformWithMapStateTTLSuite with WithExtension
class TwsList extends TransformWithListStateSuite with WithExtension
class TwsMap extends TransformWithMapStateSuite with WithExtension
class TwsListRowChecksum extends TransformWithListStateSuiteWithRowChecksum with WithExtension
class TwsMapRowChecksum extends TransformWithMapStateSuiteWithRowChecksum with WithExtension
class TwsChaining extends TransformWithStateChainingSuite with WithExtension
class TwsInitialState extends TransformWithStateInitialStateSuite with WithExtension
class TwsInitialStateFormat2 extends TransformWithStateInitialStateSuiteCheckpointV2 with WithExtension

// ---- redirected: Spark is told its RocksDB provider and gets ours

class Coordinator extends StateStoreCoordinatorSuite with RedirectedWithDefault
class Rdd extends StateStoreRDDSuite with RedirectedWithDefault

// ---- in disguise: suites whose helpers return RocksDBStateStoreProvider

class RocksDBContract extends RocksDBStateStoreSuite with Traced {
  // They look into RocksDB itself, and some then wait for ever.
  override protected def alsoSkip: Seq[String] = Seq(
    "version encoding",
    "confs are passed correctly",
    "column family id is assigned correctly",
    "creatingProvider tracks",
    "task completion listener",
    "SPARK-54389",
    "fileChecksumThreadPoolSize"
  )

  override def newStoreProvider(
      storeId: StateStoreId,
      spec: KeyStateEncoderSpec,
      keySchema: StructType,
      sqlConf: Option[SQLConf],
      conf: Configuration,
      useColumnFamilies: Boolean,
      useMultipleValuesPerKey: Boolean
  ): RocksDBStateStoreProvider = {
    conf.set(StreamExecution.RUN_ID_KEY, UUID.randomUUID().toString)
    // A test that fails with its store open closes the provider, which waits for the store: for two minutes, if not
    // told.
    val settings = sqlConf.getOrElse(SQLConf.get).clone()
    settings.setConfString(s"${RocksDBConf.ROCKSDB_SQL_CONF_NAME_PREFIX}.lockAcquireTimeoutMs", "5000")
    val storeConf = new StateStoreConf(settings)
    val schemas = Some(new TestStateSchemaProvider)
    val provider = new NamedLikeRocksDb
    provider
      .init(storeId, keySchema, valueSchema, spec, useColumnFamilies, storeConf, conf, useMultipleValuesPerKey, schemas)
    provider
  }

  override def newStoreProviderNoInit(): RocksDBStateStoreProvider = new NamedLikeRocksDb
}

trait DisguisedStateVariables extends StateVariableSuiteBase with Traced {
  override protected def newStoreProviderWithStateVariable(
      storeId: StateStoreId,
      spec: KeyStateEncoderSpec,
      sqlConf: SQLConf,
      conf: Configuration,
      useColumnFamilies: Boolean,
      schemas: Option[StateSchemaProvider]
  ): RocksDBStateStoreProvider = {
    conf.set(StreamExecution.RUN_ID_KEY, UUID.randomUUID().toString)
    val provider = new Disguise
    provider.init(
      storeId,
      schemaForKeyRow,
      schemaForValueRow,
      spec,
      useColumnFamilies,
      new StateStoreConf(sqlConf),
      conf,
      useMultipleValuesPerKey,
      schemas.orElse(Some(new TestStateSchemaProvider))
    )
    provider
  }
}

class ValueStates extends ValueStateSuite with DisguisedStateVariables
class ListStates extends ListStateSuite with DisguisedStateVariables
class MapStates extends MapStateSuite with DisguisedStateVariables
class Timers extends TimerSuite with DisguisedStateVariables
class ProcessorHandles extends StatefulProcessorHandleSuite with DisguisedStateVariables
