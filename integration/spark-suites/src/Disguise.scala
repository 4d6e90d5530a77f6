package org.apache.spark.sql.execution.streaming.state
package undertest

import java.lang.reflect.{InvocationHandler, InvocationTargetException, Method}

import net.bytebuddy.ByteBuddy
import net.bytebuddy.description.method.MethodDescription
import net.bytebuddy.description.modifier.Visibility
import net.bytebuddy.description.`type`.TypeDescription
import net.bytebuddy.implementation.InvocationHandlerAdapter
import net.bytebuddy.matcher.ElementMatchers
import org.apache.hadoop.conf.Configuration

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.StructType

/** A RocksDBStateStoreProvider by type only: everything goes to the provider under test.
  *
  * For suites whose helpers return RocksDBStateStoreProvider. What looks into RocksDB itself fails.
  */
class Disguise extends RocksDBStateStoreProvider {
  private val inner = UnderTest.newProvider()

  private def replay: SupportsFineGrainedReplay = inner match {
    case provider: SupportsFineGrainedReplay => provider
    case _ => throw new UnsupportedOperationException(s"${UnderTest.provider}: no SupportsFineGrainedReplay")
  }

  override def init(
      id: StateStoreId,
      key: StructType,
      value: StructType,
      spec: KeyStateEncoderSpec,
      useColumnFamilies: Boolean,
      storeConf: StateStoreConf,
      hadoopConf: Configuration,
      useMultipleValuesPerKey: Boolean,
      schemas: Option[StateSchemaProvider]
  ): Unit =
    inner.init(id, key, value, spec, useColumnFamilies, storeConf, hadoopConf, useMultipleValuesPerKey, schemas)

  override def stateStoreId: StateStoreId = inner.stateStoreId

  override def close(): Unit = inner.close()

  override def getStore(version: Long, id: Option[String], forceSnapshot: Boolean, loadEmpty: Boolean): StateStore =
    inner.getStore(version, id, forceSnapshot, loadEmpty)

  override def getReadStore(version: Long, id: Option[String]): StateStore = inner.getReadStore(version, id) match {
    case store: StateStore => store
    case _ => inner.getStore(version, id) // RocksDB's return type is narrower than the interface's
  }

  override def upgradeReadStoreToWriteStore(
      readStore: ReadStateStore,
      version: Long,
      id: Option[String],
      forceSnapshot: Boolean
  ): StateStore = inner.upgradeReadStoreToWriteStore(readStore, version, id, forceSnapshot)

  override def doMaintenance(): Unit = inner.doMaintenance()

  override def supportedCustomMetrics: Seq[StateStoreCustomMetric] = inner.supportedCustomMetrics

  override def supportedInstanceMetrics: Seq[StateStoreInstanceMetric] = inner.supportedInstanceMetrics

  override private[state] def latestVersion: Long = Disguise.latestVersion(inner)

  override def replayStateFromSnapshot(
      snapshot: Long,
      end: Long,
      readOnly: Boolean,
      snapshotId: Option[String],
      endId: Option[String]
  ): StateStore = replay.replayStateFromSnapshot(snapshot, end, readOnly, snapshotId, endId)

  override def getStateStoreChangeDataReader(
      start: Long,
      end: Long,
      family: Option[String],
      endId: Option[String]
  ): StateStoreChangeDataReader = {
    val feed = replay.getStateStoreChangeDataReader(start, end, family, endId)
    // The type is narrower than the interface's again; nothing of the base class is used.
    new StateStoreChangeDataReader(stateStoreId, null, null, start, end, null, StateStoreConf.empty) {
      override protected val versionsAndUniqueIds: Array[(Long, Option[String])] = Array.empty
      override protected val changelogSuffix: String = ""
      override def getNext(): (RecordType.Value, UnsafeRow, UnsafeRow, Long) =
        if (feed.hasNext) feed.next()
        else {
          finished = true
          null
        }
      override def close(): Unit = ()
    }
  }
}

object Disguise {

  /** The last version that loads, through the public interface only. */
  def latestVersion(provider: StateStoreProvider): Long = {
    def loads(version: Long): Boolean =
      try {
        val store = provider.getReadStore(version)
        try store.iterator().hasNext: Unit
        finally store.release()
        true
      } catch { case _: Exception => false }
    Iterator.iterate(0L)(_ + 1).takeWhile(version => version == 0 || loads(version)).foldLeft(0L)((_, version) =>
      version
    )
  }

  private val Handler = "handler"

  private val namedLikeRocksDb: Class[_ <: StateStore] = new ByteBuddy()
    .subclass(classOf[Object])
    .name(classOf[Disguise].getPackageName + ".NamedLikeRocksDBStateStore")
    .implement(classOf[StateStore])
    .defineField(Handler, classOf[InvocationHandler], Visibility.PUBLIC)
    .method(ElementMatchers.isDeclaredBy[MethodDescription](ElementMatchers.isInterface[TypeDescription]()))
    .intercept(InvocationHandlerAdapter.toField(Handler))
    .make()
    .load(classOf[Disguise].getClassLoader)
    .getLoaded
    .asSubclass(classOf[StateStore])

  /** The same store, of a class that has "RocksDBStateStore" in its name. */
  def namedLikeRocksDb(store: StateStore): StateStore = {
    val handler: InvocationHandler = (_: AnyRef, method: Method, arguments: Array[AnyRef]) =>
      try method.invoke(store, arguments: _*)
      catch { case e: InvocationTargetException => throw e.getCause }
    val named = namedLikeRocksDb.getDeclaredConstructor().newInstance()
    namedLikeRocksDb.getField(Handler).set(named, handler)
    named
  }
}

/** For tests that choose what they expect by the store's class name. */
class NamedLikeRocksDb extends Disguise {
  override def getStore(version: Long, id: Option[String], forceSnapshot: Boolean, loadEmpty: Boolean): StateStore =
    Disguise.namedLikeRocksDb(super.getStore(version, id, forceSnapshot, loadEmpty))
}

/** Collects the checkpoint ids of stores for the suite of checkpoint format 2. */
class Collecting extends CkptIdCollectingStateStoreProviderWrapper {
  override val innerProvider: RocksDBStateStoreProvider = new Disguise
}

object Collecting {
  val Name: String = classOf[CkptIdCollectingStateStoreProviderWrapper].getCanonicalName
}
