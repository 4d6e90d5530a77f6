package io.snapline.spark.provider

import java.io.File
import java.nio.file.Files

import org.apache.spark.SparkEnv
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.WholeOnly
import io.snapline.checkpoint.CoordinatorSettings
import io.snapline.error._
import io.snapline.spark.coordinator.{CheckpointSpec, Checkpointing}
import io.snapline.spark.{LocalSpark, SnaplineStateStoreProvider, StatefulQuery}
import io.snapline.spark.plugin.SnaplinePlugin
import io.snapline.spark.provider.BackendSettings._
import io.snapline.spark.provider.ProviderFixture.{batch, causeOf, using}
import io.snapline.state.LocalFolder

/** Flink's classic backends under Spark's operators, and what is refused where they change. */
class BackendsSpec extends AnyFunSuite with WholeOnly {
  private val plugin = "spark.plugins" -> classOf[SnaplinePlugin].getName
  private val classic = Seq("RocksDBStateBackend", "FsStateBackend", "MemoryStateBackend")

  private def withFolder(body: File => Unit): Unit = {
    val folder = Files.createTempDirectory("checkpoint").toFile
    try body(folder)
    finally LocalFolder.delete(folder)
  }

  private def stateFiles(folder: File): Seq[File] = Option(folder.listFiles()).toSeq.flatten.flatMap { file =>
    if (file.isDirectory) stateFiles(file) else Seq(file)
  }.filter(file => Seq(".changelog", ".handle", ".sst").exists(file.getName.endsWith))

  private val queries =
    Set("aggregation", "deduplication within a watermark", "session window", "inner join, state format 3")

  // Each batch is a run of its own, which loads the state from storage.
  test("an operator's state is as large on each backend, from run to run") {
    LocalSpark(LocalSpark.provider, plugin) { spark =>
      val chosen = StatefulQuery.all.filter(query => queries(query.name))
      assert(chosen.size == queries.size)
      for (query <- chosen) {
        val rows = classic.map { backend =>
          var state = Seq.empty[(Long, Long)]
          withFolder { folder =>
            spark.conf.set(Type, backend)
            val last = query.run(spark, folder.getPath, StatefulQuery.batches(2)).lastProgress
            state = last.stateOperators.toSeq.map(o => o.numRowsTotal -> o.numRowsUpdated)
            assert(last.stateOperators.forall(_.memoryUsedBytes > 0), s"$query on $backend")
            assert(stateFiles(folder).isEmpty == (backend == "MemoryStateBackend"), s"$query on $backend")
          }
          state
        }
        assert(rows.distinct.size == 1, s"$query: $rows")
      }
    }
  }

  private val memory = Type -> "MemoryStateBackend"

  /** No query plans the stores of these tests, so there is no coordinator of Spark's to hear of their commits and
    * snapshots.
    */
  private def inMemory(fixture: ProviderFixture, more: (String, String)*): SnaplineStateStoreProvider = {
    val silent = Seq(
      "spark.sql.streaming.stateStore.commitValidation.enabled" -> "false",
      "spark.sql.streaming.stateStore.coordinatorReportSnapshotUploadLag" -> "false"
    )
    fixture.open(memory +: (silent ++ more): _*)
  }

  test("state in a driver's memory is there for every executor, ends with the driver, and says so") {
    for (format <- 1 to 2) using(format) { fixture =>
      val newest = LocalSpark(LocalSpark.provider, plugin) { _ =>
        val first = batch(inMemory(fixture), Version.Empty)(1L -> 1L)
        val second = batch(inMemory(fixture), first, force = true)((2L to 9000L).map(n => n -> n): _*)
        assert(ProviderFixture.read(inMemory(fixture), second) == (1L to 9000L).map(n => n -> n).toMap)
        assert(fixture.content.isEmpty)
        second
      }
      LocalSpark(LocalSpark.provider, plugin) { _ =>
        val error = causeOf[StateNotFound](
          intercept[Exception](ProviderFixture.read(inMemory(fixture), newest))
        )
        assert(error.found.contains("the driver that had it has ended") && error.action.contains("new checkpoint"))
      }
      assert(fixture.content.isEmpty)
    }
  }

  test("the plugin's metric says how much is in the driver's memory; Spark's own storage has nothing of it") {
    def metric(): Long = SparkEnv.get.metricsSystem.getSourcesByName(s"plugin.${classOf[SnaplinePlugin].getName}").head
      .metricRegistry.getGauges.get("driverMemoryBytes").getValue.asInstanceOf[Long]
    using() { fixture =>
      LocalSpark(LocalSpark.provider, plugin) { spark =>
        val context = spark.sparkContext
        val before = context.getExecutorMemoryStatus
        assert(metric() == 0)
        val first = batch(inMemory(fixture), Version.Empty)((1L to 5000L).map(n => n -> n): _*)
        val used = metric()
        assert(used > 5000)
        batch(inMemory(fixture), first)((5001L to 10000L).map(n => n -> n): _*): Unit
        assert(metric() > used)
        assert(context.getExecutorMemoryStatus == before && context.getRDDStorageInfo.isEmpty)
      }
    }
  }

  test("what the driver's memory cannot be used for is refused, and nothing is changed") {
    using() { fixture =>
      val error = causeOf[InvalidConfiguration](
        intercept[Exception](inMemory(fixture).getStore(0, None))
      )
      assert(error.found.contains("spark.plugins"))
      val inFiles = batch(fixture.open(Type -> "FsStateBackend"), Version.Empty)(1L -> 1L)
      val before = fixture.content
      LocalSpark(LocalSpark.provider, plugin, memory) { spark =>
        val files = causeOf[IncompatibleState](intercept[Exception](ProviderFixture.read(inMemory(fixture), inFiles)))
        assert(files.action.contains(s"set $Storage back to filesystem"))

        val numbered = intercept[InvalidConfiguration](
          Checkpointing.start(spark, fixture.folder.getPath, CheckpointSpec(CoordinatorSettings(Some(1000), 60000)))
        )
        assert(numbered.found.contains(Storage) && numbered.action.contains("leave the interval out"))

        using() { other =>
          val provider = inMemory(other, MaxStateSize -> "1k")
          val small = batch(provider, Version.Empty)(1L -> 1L)
          val store = provider.getStore(small.number, small.id)
          (1L to 100L).foreach(n => store.put(ProviderFixture.row(n), ProviderFixture.row(n)))
          val large = causeOf[StateTooLarge](intercept[Exception](store.commit()))
          store.abort()
          assert(large.code == "SNAPLINE-TOO-LARGE" && large.found.contains("State default"))
          assert(large.found.contains("1024") && large.action.contains(MaxStateSize))
          assert(ProviderFixture.read(inMemory(other, MaxStateSize -> "1k"), small) == Map(1L -> 1L))
        }
      }
      assert(fixture.content == before)
    }
  }

  for {
    (was, now) <- Seq("rocksdb" -> "hashmap", "hashmap" -> "rocksdb")
    snapshot <- Seq(false, true)
  } test(s"a checkpoint of $was is refused by $now, and stays as it is, snapshot $snapshot") {
    using() { fixture =>
      val newest = batch(fixture.open(Type -> was), Version.Empty, snapshot)(1L -> 1L)
      val before = fixture.content
      val error = causeOf[IncompatibleState](
        intercept[Exception](ProviderFixture.read(fixture.open(Type -> now), newest))
      )
      assert(error.found.contains(was) && error.found.contains(now))
      assert(error.action.contains(Type) && error.action.contains(was))
      assert(fixture.content == before)
      assert(ProviderFixture.read(fixture.open(Type -> was), newest) == Map(1L -> 1L))
    }
  }

  for (async <- Seq(true, false); format <- 1 to 2)
    test(s"both heap maps write one format, and read each other's: async $async, checkpoint format $format") {
      using(format) { fixture =>
        def open(async: Boolean) = fixture.open(Type -> "hashmap", AsyncSnapshots -> async.toString)
        var newest = batch(open(async), Version.Empty, force = true)(1L -> 1L, 2L -> 2L)
        newest = batch(open(!async), newest)(2L -> 3L)
        newest = batch(open(!async), newest, force = true)(4L -> 4L)
        assert(ProviderFixture.read(open(async), newest) == Map(1L -> 1L, 2L -> 3L, 4L -> 4L))
      }
    }

  test("snapshots that are not incremental share no file") {
    for (incremental <- Seq(true, false)) using() { fixture =>
      val apart = ProviderSettings.InlineThreshold -> "0"
      val provider = fixture.open(Type -> "hashmap", Incremental -> incremental.toString, apart)
      val rows = (0L until 5000L).map(n => n -> n)
      val first = batch(provider, Version.Empty, force = true)(rows: _*)
      val files = fixture.content.keySet.filter(_.startsWith("sst/"))
      val second = batch(provider, first, force = true)(1L -> 7L)
      val fresh = fixture.content.filter { case (name, _) => name.startsWith("sst/") && !files(name) }
      // An incremental one writes what has changed, the other the image again and what has changed.
      assert(fresh.size == (if (incremental) 1 else 2))
      assert(ProviderFixture.read(fixture.open(Type -> "hashmap"), second)(1L) == 7L)
    }
  }

  test("metrics show what the heap holds") {
    using() { fixture =>
      val provider = fixture.open(Type -> "hashmap")
      val store = provider.getStore(0, None)
      (0L until 1000L).foreach(n => store.put(ProviderFixture.row(n), ProviderFixture.row(n)))
      ProviderFixture.commit(store): Unit
      val metrics = store.metrics
      assert(metrics.numKeys == 1000)
      assert(metrics.memoryUsedBytes > 1000 * 60 && metrics.memoryUsedBytes < 1000 * 200)
    }
  }
}
