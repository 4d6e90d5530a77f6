package io.snapline.spark.settings

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.InvalidConfiguration
import io.snapline.keygroup.KeyGroups
import io.snapline.spark.provider.ProviderSettings

class SettingsTableSpec extends AnyFunSuite {
  private val defaults = new SettingValues(Map.empty)

  private def refused(read: SettingValues => Any, set: (String, String)): String =
    intercept[InvalidConfiguration](read(new SettingValues(Map(set)))).getMessage

  test("each default can be read") {
    assert(SettingsTable.names.size > 40)
    val kinds = SettingsTable.names.map { name =>
      // The row of another kind is refused, so one of these reads it. Durations and paths are the package's.
      Seq[String => Any](defaults.choice, defaults.flag, defaults.number, defaults.fraction, defaults.sizeIfSet)
        .count(read => scala.util.Try(read(name)).isSuccess)
    }
    assert(kinds.forall(_ <= 1) && kinds.sum > 35)
  }

  test("the table and the key groups agree") {
    val row = SettingsTable(ProviderSettings.MaxParallelism, "number")
    assert(row.default.contains(KeyGroups.DefaultMaxParallelism.toString))
    assert(row.most.contains(KeyGroups.MaxMaxParallelism.toString))
  }

  test("a value is named with the values that there are") {
    assert(refused(_.number(ProviderSettings.SnapshotThreads), ProviderSettings.SnapshotThreads -> "65")
      .contains("set it to a number from 1 to 64"))
    assert(refused(_.size(ProviderSettings.NativeMemory), ProviderSettings.NativeMemory -> "7m")
      .contains("set it to a size from 8m to 1024g"))
    assert(refused(_.choice(ProviderSettings.Compression), ProviderSettings.Compression -> "snappy")
      .contains("set it to one of lz4, zstd, none"))
    assert(refused(_.flag(ProviderSettings.Changelog), ProviderSettings.Changelog -> "on").contains("true or false"))
  }
}
