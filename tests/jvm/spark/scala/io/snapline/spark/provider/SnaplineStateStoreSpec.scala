package io.snapline.spark.provider

import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.execution.streaming.state.snapline.StoreCalls
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.spark.provider.ProviderFixture._

class SnaplineStateStoreSpec extends AnyFunSuite {
  private def outOfOrder(body: => Any): String = {
    val thrown = intercept[StateStoreOperationOutOfOrder](body)
    assert(thrown.getCondition == "STATE_STORE_OPERATION_OUT_OF_ORDER")
    thrown.getMessageParameters.get("errorMsg")
  }

  test("a store that has ended tells so as Spark's own do") {
    using() { fixture =>
      val provider = fixture.open()
      val store = provider.getStore(0)
      assert(outOfOrder(store.metrics) == "Cannot get metrics in UPDATING state")
      assert(outOfOrder(store.getStateStoreCheckpointInfo()) == "Cannot get metrics in UPDATING state")
      store.put(row(1), row(1))
      store.commit()
      assert(outOfOrder(store.commit()) == "Expected possible states (UPDATING) but found COMMITTED")
      assert(outOfOrder(store.abort()) == "Expected possible states (UPDATING, ABORTED) but found COMMITTED")
      val other = provider.getStore(1)
      other.abort()
      other.abort()
      assert(outOfOrder(other.commit()) == "Expected possible states (UPDATING) but found ABORTED")
    }
  }

  test("a version has the states it was committed with, whatever later ones have") {
    using() { fixture =>
      val provider = fixture.openFamilies()
      val first = provider.getStore(0)
      first.put(row(1), row(1))
      first.commit()
      val second = provider.getStore(1)
      second.createColFamilyIfAbsent("late", schema, schema, spec)
      second.put(row(1), row(2), "late")
      second.commit()

      val early = provider.getStore(1)
      assert(!StoreCalls.families(early)("late"))
      intercept[StateStoreUnsupportedOperationOnMissingColumnFamily](early.get(row(1), "late"))
      early.abort()

      val again = provider.getStore(2)
      assert(again.get(row(1), "late") == row(2))
      again.abort()
    }
  }
}
