package io.snapline.spark.provider

import org.apache.spark.sql.execution.streaming.state.{RecordType, StateStore}
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.spark.provider.ProviderFixture._

class ChangeDataReaderSpec extends AnyFunSuite {
  test("every value of a list is shown") {
    for (checksums <- Seq("false", "true")) {
      using() { fixture =>
        val settings = Seq("spark.sql.streaming.stateStore.rowChecksum.enabled" -> checksums)
        val provider = fixture.openFamilies(settings = settings)
        def change(version: Long)(act: StateStore => Unit): Unit = {
          val store = provider.getStore(version)
          store.createColFamilyIfAbsent("list", schema, schema, spec, useMultipleValuesPerKey = true)
          act(store)
          store.commit(): Unit
        }
        change(0)(_.putList(row(1), Array(row(10), row(11)), "list"))
        change(1)(_.mergeList(row(1), Array(row(12), row(13)), "list"))
        change(2)(_.remove(row(1), "list"))

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
      }
    }
  }
}
