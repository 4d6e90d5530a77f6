package org.apache.spark.sql.execution.python.snapline

import java.util.UUID

import io.snapline.spark.provider.SnaplineProvider

import org.apache.spark.TaskContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.{SerializableConfiguration, Utils}

/** The state of a bounded table: a store in a folder of the task's own, gone with the task. */
private[snapline] final class BoundedStore(conf: Broadcast[SerializableConfiguration], key: StructType)
    extends Serializable {

  def open(partition: Int): StateStore = {
    val folder = Utils.createTempDir()
    val sqlConf = new SQLConf
    sqlConf.setConfString(SQLConf.STATE_STORE_PROVIDER_CLASS.key, SnaplineProvider.ClassName)
    val id = StateStoreProviderId(StateStoreId(folder.getAbsolutePath, 0, partition), UUID.randomUUID())
    val configuration = new org.apache.hadoop.conf.Configuration(conf.value.value)
    configuration.set(StreamExecution.RUN_ID_KEY, id.queryRunId.toString)
    val provider = StateStoreProvider.createAndInit(
      id,
      key,
      KeyedOperator.NoValue,
      NoPrefixKeyStateEncoderSpec(key),
      useColumnFamilies = true,
      storeConf = new StateStoreConf(sqlConf),
      hadoopConf = configuration,
      useMultipleValuesPerKey = true,
      stateSchemaProvider = None
    )
    TaskContext.get().addTaskCompletionListener[Unit] { _ =>
      provider.close()
      Utils.deleteRecursively(folder)
    }
    provider.getStore(0)
  }
}

private[snapline] object BoundedStore {
  def plan(session: SparkSession, key: StructType): BoundedStore = new BoundedStore(
    SerializableConfiguration.broadcast(session.sparkContext, session.sessionState.newHadoopConf()),
    key
  )
}
