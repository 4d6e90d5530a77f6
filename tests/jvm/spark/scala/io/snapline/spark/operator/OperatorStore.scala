package io.snapline.spark.operator

import java.nio.file.Files
import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

import io.snapline.spark.SnaplineStateStoreProvider

/** Stores for tests of the operator, in folders of their own. */
object OperatorStore {

  def withProvider(key: StructType, encoder: KeyStateEncoderSpec, run: UUID = UUID.randomUUID())(
      body: SnaplineStateStoreProvider => Unit
  ): Unit = {
    val provider = new SnaplineStateStoreProvider
    val configuration = new Configuration
    configuration.set("sql.streaming.runId", run.toString)
    val id = StateStoreId(Files.createTempDirectory("state").toString, 0, 0)
    provider.init(id, key, key, encoder, true, StateStoreConf(new SQLConf), configuration, true, None)
    try body(provider)
    finally provider.close()
  }

  def using(key: StructType, encoder: KeyStateEncoderSpec)(body: StateStore => Unit): Unit =
    withProvider(key, encoder) { provider =>
      val store = provider.getStore(0)
      try body(store)
      finally store.abort()
    }
}
