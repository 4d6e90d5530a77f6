package io.snapline.spark.settings

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.InvalidConfiguration

class UiSettingsSpec extends AnyFunSuite {
  test("defaults, and values") {
    assert(UiSettings.read(Map.empty) == UiSettings(enabled = true, 100, 1000, 100))
    val set = Map(UiSettings.Enabled -> "false", UiSettings.RetainedQueries -> "2", UiSettings.RetainedDetails -> "0")
    assert(UiSettings.read(set) == UiSettings(enabled = false, 2, 1000, 0))
  }

  test("what does not fit is refused by name") {
    for (
      (name, value) <- Seq(
        UiSettings.Enabled -> "yes",
        UiSettings.RetainedQueries -> "0",
        UiSettings.RetainedCheckpoints -> "-1",
        UiSettings.RetainedDetails -> "many"
      )
    ) {
      assert(intercept[InvalidConfiguration](UiSettings.read(Map(name -> value))).getMessage.contains(name))
    }
  }
}
