package io.snapline.spark

import org.apache.spark.sql.execution.streaming.state.snapline.LoadMetrics
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.snapshot.format.VersionRef
import io.snapline.spark.provider.{ProviderFixture, ProviderMetrics, ProviderSettings, Version}
import io.snapline.spark.provider.ProviderFixture._

/** What Spark may ask of a provider when it opens a store. */
class SnaplineStateStoreProviderSpec extends AnyFunSuite {

  private def handles(fixture: ProviderFixture): Set[Long] =
    fixture.content.keySet.flatMap(VersionRef.parse(_)).collect { case (ref, VersionRef.Handle) => ref.version }

  for (format <- 1 to 2) {
    test(s"format $format: a snapshot that is asked for is there when the commit returns") {
      using(format) { fixture =>
        val provider = fixture.open()
        val first = batch(provider, Version.Empty)(1L -> 1L)
        assert(handles(fixture).isEmpty)
        val second = batch(provider, first, force = true)(2L -> 2L)
        assert(handles(fixture) == Set(2))

        val store = provider.getReadStore(2, second.id)
        val upgraded = provider.upgradeReadStoreToWriteStore(store, 2, second.id, true)
        upgraded.put(row(3), row(3))
        val third = commit(upgraded)
        assert(handles(fixture) == Set(2, 3))
        val shown = LoadMetrics.of(loadedFromStorage = false, forcedSnapshot = true)
        assert(shown.forall { case (metric, n) => upgraded.metrics.customMetrics(metric) == n })
        assert(read(fixture.open(), third) == Map(1L -> 1L, 2L -> 2L, 3L -> 3L))
      }
    }

    test(s"format $format: without changelogs each commit is a snapshot") {
      using(format) { fixture =>
        val provider = fixture.open(ProviderSettings.Changelog -> "false")
        val first = batch(provider, Version.Empty)(1L -> 1L)
        val second = batch(provider, first)(2L -> 2L)
        val kinds = fixture.content.keySet.flatMap(VersionRef.parse(_)).map { case (ref, kind) => ref.version -> kind }
        assert(kinds == Set(1L -> VersionRef.Handle, 2L -> VersionRef.Handle))
        assert(read(fixture.open(), second) == Map(1L -> 1L, 2L -> 2L))
        // The setting may change with a restart.
        val third = batch(fixture.open(), second)(3L -> 3L)
        assert(read(fixture.open(ProviderSettings.Changelog -> "false"), third).size == 3)
        assert(read(fixture.open(), first) == Map(1L -> 1L))
      }
    }

    test(s"format $format: a store that is asked for empty holds what is put into it, and older versions stay") {
      for (force <- Seq(false, true); fresh <- Seq(false, true)) {
        using(format) { fixture =>
          val provider = fixture.open()
          val old = batch(provider, batch(provider, Version.Empty)(1L -> 1L), force = true)(2L -> 2L)
          val writer = if (fresh) fixture.open() else provider
          val store = writer.getStore(old.number, old.id, force, loadEmpty = true)
          assert(rowsOf(store).isEmpty && store.get(row(1)) == null)
          store.put(row(9), row(9))
          val renewed = commit(store)
          assert(renewed.number == 3)
          for (reader <- Seq(writer, fixture.open())) {
            assert(read(reader, renewed) == Map(9L -> 9L))
            assert(read(reader, old) == Map(1L -> 1L, 2L -> 2L))
          }
          val next = batch(fixture.open(), renewed)(10L -> 10L)
          assert(read(fixture.open(), next) == Map(9L -> 9L, 10L -> 10L))
        }
      }
    }
  }

  test("an empty store that is aborted leaves the version as it was") {
    using() { fixture =>
      val provider = fixture.open()
      val version = batch(provider, Version.Empty)(1L -> 1L)
      val before = fixture.content
      val store = provider.getStore(version.number, version.id, false, loadEmpty = true)
      store.put(row(2), row(2))
      store.abort()
      assert(fixture.content == before)
      assert(read(provider, version) == Map(1L -> 1L))
    }
  }

  test("a store that another task holds is waited for, so long as Spark is told to") {
    using() { fixture =>
      val provider = fixture.open("spark.sql.streaming.stateStore.rocksdb.lockAcquireTimeoutMs" -> "200")
      val holder = provider.getStore(0)
      val begun = System.nanoTime()
      val thrown = intercept[Exception](provider.getStore(0))
      assert(System.nanoTime() - begun >= 200000000L)
      assert(thrown.getMessage.contains("CANNOT_LOAD_STATE_STORE.UNRELEASED_THREAD_ERROR"))
      holder.abort()
      assert(batch(provider, Version.Empty)(1L -> 1L).number == 1)
    }
  }

  test("Spark knows every metric that a store reports") {
    using() { fixture =>
      val provider = fixture.open()
      val store = provider.getStore(0)
      store.put(row(1), row(1))
      store.commit()
      val known = ProviderMetrics.custom.map(_.name)
      assert(known.distinct == known)
      assert(store.metrics.customMetrics.keySet.map(_.name).subsetOf(known.toSet))
      assert(store.metrics.numKeys == 1)
    }
  }

  test("versions that make no sense are refused as Spark's providers do") {
    using() { fixture =>
      val provider = fixture.open()
      intercept[Exception](provider.getStore(-1))
      intercept[Exception](provider.getReadStore(-1))
      assert(!fixture.folder.exists())
      assert(batch(provider, Version.Empty)(1L -> 1L).number == 1)
    }
  }
}
