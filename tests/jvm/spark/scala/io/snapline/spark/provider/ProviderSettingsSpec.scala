package io.snapline.spark.provider

import java.nio.file.Files

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.execution.streaming.state.StateStoreConf
import org.apache.spark.sql.internal.SQLConf
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.{IncompatibleState, InvalidConfiguration}
import io.snapline.spark.{LocalSpark, SettingsOfSpark, StatefulQuery}
import io.snapline.spark.provider.ProviderFixture.{batch, causeOf, using}
import io.snapline.spark.provider.ProviderSettings._
import io.snapline.state.LocalFolder

class ProviderSettingsSpec extends AnyFunSuite {
  private val retain = "spark.sql.streaming.minBatchesToRetain"
  private val deltas = "spark.sql.streaming.stateStore.minDeltasForSnapshot"

  private val wrong: Seq[(String, Seq[String])] = Seq(
    NativeMemory -> Seq("", "-1", "0", "7m", "8191k", "lots", "1.5g", "128 x", "2000g", "999999999999999g"),
    TableFraction -> Seq("", "-0.1", "0.81", "20", "NaN", "Infinity", "a fifth"),
    Changelog -> Seq("", "on"),
    BackendSettings.Incremental -> Seq("maybe"),
    InlineThreshold -> Seq("", "-1", "2m", "1048577", "some"),
    LocalBackup -> Seq("1"),
    Compression -> Seq("", "snappy", "lz4,zstd"),
    ChangelogCompression -> Seq("", "zstd"),
    MaxParallelism -> Seq("", "0", "-5", "65536", "3.5", "99999999999", "many"),
    SnapshotThreads -> Seq("", "0", "-1", "65", "two"),
    retain -> Seq("0", "-1"),
    deltas -> Seq("0", "-1"),
    "spark.snapline.max-paralelism" -> Seq("8"),
    "spark.snapline." -> Seq("true")
  )

  for ((name, values) <- wrong; value <- values)
    test(s"refused: $name = '$value'") {
      using() { fixture =>
        if (SettingsOfSpark.checked(name)) {
          val error = intercept[IllegalArgumentException](fixture.open(name -> value))
          assert(error.getMessage.contains(name) && error.getMessage.contains(value))
        } else {
          val error = intercept[InvalidConfiguration](fixture.open(name -> value))
          assert(error.code == "SNAPLINE-CONFIG" && error.action.nonEmpty)
          assert(error.found.contains(name))
          if (!name.contains("paralelism") && name != "spark.snapline.") assert(error.found.contains(s"'$value'"))
        }
        assert(!fixture.folder.exists())
      }
    }

  private def read(settings: (String, String)*): ProviderSettings = {
    val configuration = new Configuration
    settings.foreach { case (name, value) => configuration.set(name, value) }
    ProviderSettings.read(StateStoreConf(new SQLConf), configuration)
  }

  test("what is not set has its default") {
    val settings = read()
    assert(settings.nativeMemory == (128L << 20))
    assert(settings.tableMemory == (0.2 * Runtime.getRuntime.maxMemory).toLong)
    assert(settings.compression == "lz4" && settings.state.compress)
    assert(settings.maxParallelism == 57600 && settings.snapshotThreads == 2)
    assert(settings.state.changelog && settings.state.incremental && settings.state.localBackup)
    assert(settings.state.inlineThreshold == 20480)
    assert(settings.state.retain == 100 && settings.state.policy.minChangelogs == 10)
  }

  test("what is set is taken, in any usual spelling") {
    for ((text, bytes) <- Seq("8m" -> 8L, "64M" -> 64L, "64mb" -> 64L, " 1 g " -> 1024L, "1024g" -> (1024L << 10))) {
      assert(read(NativeMemory -> text).nativeMemory == bytes << 20, text)
    }
    assert(read(NativeMemory -> (9L << 20).toString).nativeMemory == 9L << 20)
    assert(read(NativeMemory -> "10000k").nativeMemory == 10000L << 10)
    assert(read(TableFraction -> " 0 ").tableMemory == 0)
    assert(read(TableFraction -> "0.8").tableMemory == (0.8 * Runtime.getRuntime.maxMemory).toLong)
    assert(read(Compression -> " ZSTD").compression == "zstd")
    assert(!read(ChangelogCompression -> "None").state.compress)
    assert(!read(Changelog -> "FALSE").state.changelog &&
      !read(BackendSettings.Incremental -> " false ").state.incremental)
    assert(Seq("0", "1000", "20 kb", "1m").map(text => read(InlineThreshold -> text).state.inlineThreshold) ==
      Seq(0, 1000, 20480, 1 << 20))
    assert(read(MaxParallelism -> " 128 ").maxParallelism == 128)
    assert(Seq("1", "65535").map(n => read(MaxParallelism -> n).maxParallelism) == Seq(1, 65535))
    assert(Seq("1", "64").map(n => read(SnapshotThreads -> n).snapshotThreads) == Seq(1, 64))
  }

  test("state written under another setting is refused by the setting's name") {
    val checksums = Seq("spark.sql.streaming.stateStore.rowChecksum.enabled" -> "true")
    val settings = Seq(
      MaxParallelism -> "128",
      "spark.sql.streaming.stateStore.encodingFormat" -> "avro"
    ) ++ checksums.filter(_ => SettingsOfSpark.hasRowChecksums)
    for ((name, value) <- settings; snapshot <- Seq(false, true)) {
      using() { fixture =>
        val newest = batch(fixture.open(), Version.Empty, snapshot)(1L -> 1L)
        val before = fixture.content
        val other = fixture.open(name -> value)
        val error = causeOf[IncompatibleState](intercept[Exception](ProviderFixture.read(other, newest)))
        assert(error.found.contains(value) && error.action.contains(name))
        assert(fixture.content == before)
        assert(ProviderFixture.read(fixture.open(), newest) == Map(1L -> 1L))
      }
    }
  }

  test("a query with a wrong setting writes no state, and goes on once it is right") {
    val checkpoint = Files.createTempDirectory("checkpoint").toFile
    try
      LocalSpark(LocalSpark.provider) { spark =>
        def run(): Unit = StatefulQuery.aggregation.run(spark, checkpoint.getPath, StatefulQuery.batches(1)): Unit
        spark.conf.set(SnapshotThreads, "0")
        assert(causeOf[InvalidConfiguration](intercept[Exception](run())).found.contains(SnapshotThreads))
        assert(StoredKeys.of(checkpoint).isEmpty)
        spark.conf.unset(SnapshotThreads)
        run()
        assert(StoredKeys.of(checkpoint).exists(_.keys.nonEmpty))
      }
    finally LocalFolder.delete(checkpoint)
  }
}
