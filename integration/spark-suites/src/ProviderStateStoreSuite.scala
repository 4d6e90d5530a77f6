package org.apache.spark.sql.execution.streaming.state
package undertest

import java.util.UUID

import scala.util.Random

import org.apache.hadoop.conf.Configuration
import org.scalatest.BeforeAndAfter

import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.test.SharedSparkSession
import org.apache.spark.sql.types.StructType

/** Spark's contract suite through the interface StateStoreProvider. */
class ProviderStateStoreSuite
    extends StateStoreSuiteBase[StateStoreProvider]
    with SharedSparkSession
    with BeforeAndAfter
    with Traced {
  import StateStoreTestsHelper._

  // What iterators see is told by class name: SnapshotIterators has these.
  override protected def alsoSkip: Seq[String] = Seq("SPARK-38320")

  before { StateStore.stop(); spark.streams.stateStoreCoordinator }
  after { StateStore.stop() }

  override def newStoreProviderNoInit(): StateStoreProvider = UnderTest.newProvider()

  private def make(
      id: StateStoreId = StateStoreId(newDir(), Random.nextInt(1 << 20), 0),
      spec: KeyStateEncoderSpec = NoPrefixKeyStateEncoderSpec(keySchema),
      key: StructType = keySchema,
      families: Boolean = false,
      sqlConf: SQLConf = SQLConf.get,
      conf: Configuration = new Configuration
  ): StateStoreProvider = {
    val provider = newStoreProviderNoInit()
    conf.set(StreamExecution.RUN_ID_KEY, UUID.randomUUID().toString)
    val schemas = Some(new TestStateSchemaProvider)
    provider.init(id, key, valueSchema, spec, families, new StateStoreConf(sqlConf), conf, false, schemas)
    provider
  }

  override def newStoreProvider(): StateStoreProvider = make()
  override def newStoreProvider(id: StateStoreId): StateStoreProvider = make(id)
  override def newStoreProvider(id: StateStoreId, families: Boolean): StateStoreProvider = make(id, families = families)
  override def newStoreProvider(id: StateStoreId, conf: Configuration): StateStoreProvider = make(id, conf = conf)
  override def newStoreProvider(minDeltas: Int, versionsInMemory: Int): StateStoreProvider =
    make(sqlConf = getDefaultSQLConf(minDeltas, versionsInMemory))
  override def newStoreProvider(key: StructType, spec: KeyStateEncoderSpec, families: Boolean): StateStoreProvider =
    make(spec = spec, key = key, families = families)
  override def newStoreProvider(families: Boolean): StateStoreProvider = make(families = families)
  override def newStoreProviderWithClonedConf(id: StateStoreId): StateStoreProvider =
    make(id, sqlConf = cloneSQLConf())

  override def getLatestData(provider: StateStoreProvider, families: Boolean): Set[((String, Int), Int)] =
    getData(provider, -1, families)

  override def getData(provider: StateStoreProvider, version: Int, families: Boolean): Set[((String, Int), Int)] =
    tryWithProviderResource(make(provider.stateStoreId, families = families)) { fresh =>
      val store = fresh.getStore(if (version < 0) Disguise.latestVersion(fresh) else version.toLong)
      try store.iterator().map(rowPairToDataPair).toSet
      finally if (!store.hasCommitted) store.abort()
    }

  override def getDefaultSQLConf(minDeltas: Int, versionsInMemory: Int): SQLConf = {
    val conf = SQLConf.get.clone()
    conf.setConf(SQLConf.STATE_STORE_MIN_DELTAS_FOR_SNAPSHOT, minDeltas)
    conf.setConf(SQLConf.MAX_BATCHES_TO_RETAIN_IN_MEMORY, versionsInMemory)
    conf.setConf(SQLConf.MIN_BATCHES_TO_RETAIN, 2)
    conf
  }

  override protected def testQuietly(name: String)(f: => Unit): Unit = super[StateStoreSuiteBase].testQuietly(name)(f)

  /** Two codecs are enough: the sixteen variants differ for files of Spark's providers only. */
  override protected def testWithAllCodec(name: String)(body: Boolean => Any): Unit =
    for (families <- Seq(true, false); codec <- Seq("lz4", "zstd")) {
      test(s"$name - with codec $codec - with colFamiliesEnabled=$families") {
        withSQLConf(SQLConf.STATE_STORE_COMPRESSION_CODEC.key -> codec)(body(families))
      }
    }
}

/** Iterators are snapshots, as those of Spark's RocksDB provider: the test asks for that where the store's class has
  * its name.
  */
class SnapshotIterators extends ProviderStateStoreSuite {
  override protected def alsoSkip: Seq[String] = testNames.filterNot(_.startsWith("SPARK-38320")).toSeq

  override def newStoreProviderNoInit(): StateStoreProvider = new NamedLikeRocksDb
}
