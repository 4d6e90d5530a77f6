package io.snapline.spark.provider

import org.apache.spark.sql.execution.streaming.state._
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.IncompatibleState
import io.snapline.spark.provider.ProviderFixture._

class StateFamiliesSpec extends AnyFunSuite {
  private val ordered = RangeKeyScanStateEncoderSpec(schema, Seq(0))

  /** As the state data source reads one state of an operator that has several. */
  private def readOne(fixture: ProviderFixture, layout: KeyStateEncoderSpec, multi: Boolean)(
      body: StateStore => Unit
  ): Unit = {
    val store = fixture.openFamilies(layout, multi).getStore(1)
    try {
      store.createColFamilyIfAbsent("one", schema, schema, layout, multi, isInternal = false)
      body(store)
    } finally store.abort()
  }

  test("one state can be read by a provider that declares the default state with that one's layout") {
    for ((layout, multi) <- Seq(ordered -> false, spec -> true, ordered -> true)) {
      using() { fixture =>
        val store = fixture.openFamilies().getStore(0)
        store.createColFamilyIfAbsent("one", schema, schema, layout, multi, isInternal = false)
        store.put(row(1), row(2), "one")
        store.commit()
        readOne(fixture, layout, multi) { store =>
          assert(store.get(row(1), "one") == row(2))
          intercept[IncompatibleState](store.get(row(1), StateStore.DEFAULT_COL_FAMILY_NAME))
        }
      }
    }
  }

  test("a default state that holds rows of another layout is refused at once") {
    using() { fixture =>
      batch(fixture.openFamilies(), Version.Empty)(1L -> 2L): Unit
      causeOf[IncompatibleState](intercept[Exception](readOne(fixture, ordered, multi = false)(_ => ())))
    }
  }
}
