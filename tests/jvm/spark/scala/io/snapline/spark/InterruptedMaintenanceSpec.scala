package io.snapline.spark

import java.nio.file.Files
import java.util.UUID
import java.util.concurrent.{CountDownLatch, TimeUnit}

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{LongType, StructType}
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.spark.provider.{ProviderSettings, SharedResources}

class InterruptedMaintenanceSpec extends AnyFunSuite {
  private val schema = new StructType().add("n", LongType)

  private def row(n: Long): UnsafeRow = UnsafeProjection.create(schema)(new GenericInternalRow(Array[Any](n))).copy()

  test("maintenance that is interrupted while a snapshot is made leaves the provider to Spark, which closes it") {
    val sqlConf = new SQLConf
    sqlConf.setConf(SQLConf.STATE_STORE_MIN_DELTAS_FOR_SNAPSHOT, 1)
    val conf = StateStoreConf(sqlConf)
    val configuration = new Configuration
    configuration.set("sql.streaming.runId", UUID.randomUUID().toString)
    val settings = ProviderSettings.read(conf, configuration)
    val free = new CountDownLatch(1)
    (0 until settings.snapshotThreads).foreach { _ =>
      SharedResources.get(settings).snapshots.submit(() => free.await(30, TimeUnit.SECONDS): Unit)
    }
    val provider = new SnaplineStateStoreProvider
    val id = StateStoreId(Files.createTempDirectory("state").toString, 0, 0)
    try {
      provider.init(id, schema, schema, NoPrefixKeyStateEncoderSpec(schema), false, conf, configuration, false, None)
      val store = provider.getStore(0)
      store.put(row(1), row(2))
      store.commit()

      Thread.currentThread().interrupt()
      provider.doMaintenance()
      provider.close()
      assert(Thread.interrupted(), "Spark still learns of it")
    } finally free.countDown()
  }
}
