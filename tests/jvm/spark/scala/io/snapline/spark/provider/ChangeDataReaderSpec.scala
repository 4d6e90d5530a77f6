package io.snapline.spark.provider

import java.nio.file.Files
import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{LongType, StructType}
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.spark.SnaplineStateStoreProvider

class ChangeDataReaderSpec extends AnyFunSuite {
  private val schema = new StructType().add("n", LongType)

  private def row(n: Long): UnsafeRow = UnsafeProjection.create(schema)(new GenericInternalRow(Array[Any](n))).copy()

  test("every value of a list is shown") {
    for (checksums <- Seq(false, true)) {
      val provider = new SnaplineStateStoreProvider
      val configuration = new Configuration
      configuration.set("sql.streaming.runId", UUID.randomUUID().toString)
      val sqlConf = new SQLConf
      sqlConf.setConf(SQLConf.STATE_STORE_ROW_CHECKSUM_ENABLED, checksums)
      val id = StateStoreId(Files.createTempDirectory("state").toString, 0, 0)
      val spec = NoPrefixKeyStateEncoderSpec(schema)
      provider.init(id, schema, schema, spec, true, StateStoreConf(sqlConf), configuration, false, None)
      try {
        def batch(version: Long)(change: StateStore => Unit): Unit = {
          val store = provider.getStore(version)
          store.createColFamilyIfAbsent("list", schema, schema, spec, useMultipleValuesPerKey = true)
          change(store)
          store.commit(): Unit
        }
        batch(0)(_.putList(row(1), Array(row(10), row(11)), "list"))
        batch(1)(_.mergeList(row(1), Array(row(12), row(13)), "list"))
        batch(2)(_.remove(row(1), "list"))

        val changes = provider.getStateStoreChangeDataReader(1, 3, Some("list"), None)
        val shown = Iterator.continually(changes).takeWhile(_.hasNext).map { feed =>
          val (kind, key, value, number) = feed.next()
          (kind, key.getLong(0), Option(value).map(_.getLong(0)), number)
        }
        assert(
          shown.toSeq == Seq(
            (RecordType.PUT_RECORD, 1L, Some(10L), 0L),
            (RecordType.MERGE_RECORD, 1L, Some(11L), 0L),
            (RecordType.MERGE_RECORD, 1L, Some(12L), 1L),
            (RecordType.MERGE_RECORD, 1L, Some(13L), 1L),
            (RecordType.DELETE_RECORD, 1L, None, 2L)
          )
        )
      } finally provider.close()
    }
  }
}
