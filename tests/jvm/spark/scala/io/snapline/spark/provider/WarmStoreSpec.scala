package io.snapline.spark.provider

import org.apache.spark.sql.execution.streaming.state.StateStoreProvider
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.checkpoint.StoreId
import io.snapline.error.StateNotFound

/** A store that is loaded ahead of its move (docs/notes/024-rebalancing.md). */
class WarmStoreSpec extends AnyFunSuite {
  import ProviderFixture._

  private def place(fixture: ProviderFixture) =
    OpenStates.Place(fixture.id.checkpointRootLocation, StoreId(0, 0, "default"))

  private def batches(provider: StateStoreProvider, count: Int): Seq[Version] = (1 to count).scanLeft(Version.Empty)(
    (on, n) => batch(provider, on)(n.toLong -> n.toLong)
  ).tail

  for (backend <- Seq("rocksdb", "hashmap"))
    test(s"its state is there for the store that comes, once, and it writes nothing: $backend") {
      using() { fixture =>
        val setting = BackendSettings.Type -> backend
        val made = batches(fixture.open(setting), 3).last
        val before = fixture.content
        fixture.warm(made.number, setting)
        assert(fixture.content == before)
        val taken = OpenStates.here.take(place(fixture))(_.version == made.number)
        assert(taken.isDefined)
        assert(OpenStates.here.take(place(fixture))(_ => true).isEmpty)
        taken.foreach(_.close())
        assert(fixture.content == before)
      }
    }

  test("a state that is not wanted is closed") {
    using() { fixture =>
      val made = batches(fixture.open(), 2).last
      fixture.warm(made.number)
      assert(OpenStates.here.take(place(fixture))(_ => false).isEmpty)
      assert(OpenStates.here.take(place(fixture))(_ => true).isEmpty)
    }
  }

  test("a version that is not there is loaded by nobody") {
    using() { fixture =>
      batches(fixture.open(), 2): Unit
      assert(intercept[StateNotFound](fixture.warm(7)).found.contains("Version 7"))
      assert(OpenStates.here.take(place(fixture))(_ => true).isEmpty)
    }
  }
}
