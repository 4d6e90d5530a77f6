package io.snapline.spark.provider

import java.nio.file.Files
import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{LongType, StructType}
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.IncompatibleState
import io.snapline.spark.SnaplineStateStoreProvider

class StateFamiliesSpec extends AnyFunSuite {
  private val schema = new StructType().add("n", LongType)
  private val hashed = NoPrefixKeyStateEncoderSpec(schema)
  private val ordered = RangeKeyScanStateEncoderSpec(schema, Seq(0))

  private def row(n: Long): UnsafeRow = UnsafeProjection.create(schema)(new GenericInternalRow(Array[Any](n))).copy()

  private def withProvider[A](folder: String, spec: KeyStateEncoderSpec, multi: Boolean)(
      body: SnaplineStateStoreProvider => A
  ): A = {
    val provider = new SnaplineStateStoreProvider
    val configuration = new Configuration
    configuration.set("sql.streaming.runId", UUID.randomUUID().toString)
    val conf = StateStoreConf(new SQLConf)
    provider.init(StateStoreId(folder, 0, 0), schema, schema, spec, true, conf, configuration, multi, None)
    try body(provider)
    finally provider.close()
  }

  /** As the state data source reads one state of an operator that has several. */
  private def readOne(folder: String, spec: KeyStateEncoderSpec, multi: Boolean)(body: StateStore => Unit): Unit =
    withProvider(folder, spec, multi) { provider =>
      val store = provider.getStore(1)
      store.createColFamilyIfAbsent("one", schema, schema, spec, multi, isInternal = false)
      try body(store)
      finally store.abort()
    }

  test("one state can be read by a provider that declares the default state with that one's layout") {
    for ((spec, multi) <- Seq(ordered -> false, hashed -> true, ordered -> true)) {
      val folder = Files.createTempDirectory("state").toString
      withProvider(folder, hashed, multi = false) { provider =>
        val store = provider.getStore(0)
        store.createColFamilyIfAbsent("one", schema, schema, spec, multi, isInternal = false)
        store.put(row(1), row(2), "one")
        store.commit()
      }
      readOne(folder, spec, multi) { store =>
        assert(store.get(row(1), "one") == row(2))
        intercept[IncompatibleState](store.get(row(1), StateStore.DEFAULT_COL_FAMILY_NAME))
      }
    }
  }

  test("a default state that holds rows of another layout is refused at once") {
    val folder = Files.createTempDirectory("state").toString
    withProvider(folder, hashed, multi = false) { provider =>
      val store = provider.getStore(0)
      store.put(row(1), row(2))
      store.commit()
    }
    val thrown = intercept[Exception](readOne(folder, ordered, multi = false)(_ => ()))
    assert(
      Iterator.iterate[Throwable](thrown)(_.getCause).takeWhile(_ != null).exists(_.isInstanceOf[IncompatibleState])
    )
  }
}
