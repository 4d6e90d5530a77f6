package io.snapline.spark.provider

import scala.util.Random

import org.apache.spark.sql.execution.streaming.state.{RecordType, StateStore}
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.spark.SnaplineStateStoreProvider
import io.snapline.spark.provider.ProviderFixture._

class ChangeDataReaderSpec extends AnyFunSuite {
  import ChangeDataReaderSpec._

  test("every value of a list is shown") {
    for (checksums <- Seq("false", "true")) {
      using() { fixture =>
        val provider = fixture.openFamilies(settings = Seq(Checksums -> checksums))
        change(provider, 0)(_.putList(row(1), Array(row(10), row(11)), "list"))
        change(provider, 1)(_.mergeList(row(1), Array(row(12), row(13)), "list"))
        change(provider, 2)(_.remove(row(1), "list"))

        assert(
          shown(provider, "list", 3) == Seq(
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

  for (backend <- Seq("rocksdb", "hashmap"); checksums <- Seq("false", "true")) {
    test(s"each call is shown, in the order of the calls: $backend, row checksums $checksums") {
      val seed = Random.nextLong()
      withClue(s"seed $seed: ") {
        using() { fixture =>
          val settings = Seq(BackendSettings.Type -> backend, Checksums -> checksums)
          val provider = fixture.openFamilies(settings = settings)
          val calls = new Calls(new Random(seed))
          // So many that pages of the table and blocks of the file are filled.
          val versions = (0L until 6L).map { version =>
            change(provider, version)(store => (0 until 3000).foreach(_ => calls.next(store, version)))
          }
          for (family <- Seq("single", "list")) {
            val made = calls.made.collect { case (`family`, step) => Some(step) }
            val seen = shown(provider, family, versions.last).map(Some(_))
            assert(seen.zipAll(made, None, None).zipWithIndex.find { case ((a, b), _) => a != b }.isEmpty)
          }
          // A store that is restored from these changelogs holds what was left in the end.
          val restored = fixture.openFamilies(settings = settings)
          val store = restored.getStore(versions.last)
          declare(store)
          calls.rest.foreach { case ((family, key), values) =>
            val found = if (family == "single") Option(store.get(row(key), family)).iterator
            else store.valuesIterator(row(key), family)
            assert(found.map(_.getLong(0)).toSeq == values)
          }
          store.abort()
        }
      }
    }
  }
}

object ChangeDataReaderSpec {
  private type Step = (RecordType.Value, Long, Option[Long], Long)
  private val Checksums = "spark.sql.streaming.stateStore.rowChecksum.enabled"

  private def declare(store: StateStore): Unit = {
    store.createColFamilyIfAbsent("single", schema, schema, spec)
    store.createColFamilyIfAbsent("list", schema, schema, spec, useMultipleValuesPerKey = true)
  }

  private def change(provider: SnaplineStateStoreProvider, version: Long)(act: StateStore => Unit): Long = {
    val store = provider.getStore(version)
    declare(store)
    act(store)
    store.commit()
  }

  private def shown(provider: SnaplineStateStoreProvider, family: String, last: Long): Seq[Step] = {
    val feed = provider.getStateStoreChangeDataReader(1, last, Some(family), None)
    Iterator.continually(feed).takeWhile(_.hasNext).map { changes =>
      val (kind, key, value, number) = changes.next()
      (kind, key.getLong(0), Option(value).map(_.getLong(0)), number)
    }.toSeq
  }

  /** Random calls on few keys, and what a change feed has to show of them. */
  private final class Calls(random: Random) {
    private val steps = Vector.newBuilder[(String, Step)]
    private var left = Map.empty[(String, Long), Seq[Long]].withDefaultValue(Nil)

    def made: Seq[(String, Step)] = steps.result()

    /** The values of every key that was ever touched. */
    def rest: Map[(String, Long), Seq[Long]] = left

    def next(store: StateStore, batch: Long): Unit = {
      val key = random.nextInt(40).toLong
      val values = Seq.fill(1 + random.nextInt(3))(random.nextLong())
      def note(family: String, kind: RecordType.Value, value: Option[Long]): Unit =
        steps += family -> ((kind, key, value, batch))
      random.nextInt(9) match {
        case 0 | 1 | 2 =>
          store.put(row(key), row(values.head), "single")
          note("single", RecordType.PUT_RECORD, Some(values.head))
          left += ("single", key) -> values.take(1)
        case 3 =>
          store.remove(row(key), "single")
          note("single", RecordType.DELETE_RECORD, None)
          left += ("single", key) -> Nil
        case 4 | 5 =>
          store.merge(row(key), row(values.head), "list")
          note("list", RecordType.MERGE_RECORD, Some(values.head))
          left += ("list", key) -> (left(("list", key)) :+ values.head)
        case 6 =>
          store.mergeList(row(key), values.map(row).toArray, "list")
          values.foreach(value => note("list", RecordType.MERGE_RECORD, Some(value)))
          left += ("list", key) -> (left(("list", key)) ++ values)
        case 7 =>
          store.putList(row(key), values.map(row).toArray, "list")
          note("list", RecordType.PUT_RECORD, Some(values.head))
          values.tail.foreach(value => note("list", RecordType.MERGE_RECORD, Some(value)))
          left += ("list", key) -> values
        case _ =>
          store.remove(row(key), "list")
          note("list", RecordType.DELETE_RECORD, None)
          left += ("list", key) -> Nil
      }
    }
  }
}
