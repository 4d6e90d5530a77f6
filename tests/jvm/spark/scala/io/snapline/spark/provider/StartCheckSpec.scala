package io.snapline.spark.provider

import java.io.File
import java.nio.file.Files

import org.apache.spark.sql.{Row, SparkSession}
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.IncompatibleState
import io.snapline.snapshot.format.VersionRef
import io.snapline.spark.{LocalSpark, StatefulQuery}
import io.snapline.spark.plugin.SnaplinePlugin
import io.snapline.spark.provider.BackendSettings.{Storage, Type}
import io.snapline.state.LocalFolder

/** A query that does not fit the state of its checkpoint is refused in the call that starts it; a reader needs to be
  * told of no backend.
  */
class StartCheckSpec extends AnyFunSuite {
  private val plugin = "spark.plugins" -> classOf[SnaplinePlugin].getName
  private val join = StatefulQuery.all.find(_.name == "inner join, state format 3").get

  private def withFolder(body: File => Unit): Unit = {
    val folder = Files.createTempDirectory("checkpoint").toFile
    try body(folder)
    finally LocalFolder.delete(folder)
  }

  private def content(of: File): Map[String, Seq[Byte]] = Option(of.listFiles()).toSeq.flatten.flatMap { file =>
    if (file.isDirectory) content(file).map { case (name, bytes) => s"${file.getName}/$name" -> bytes }
    else Seq(file.getName -> Files.readAllBytes(file.toPath).toSeq)
  }.toMap

  private def setting(spark: SparkSession, settings: (String, String)*)(body: => Unit): Unit = {
    settings.foreach { case (name, value) => spark.conf.set(name, value) }
    try body
    finally settings.foreach { case (name, _) => spark.conf.unset(name) }
  }

  /** In the call: a failure of the query itself is a StreamingQueryException. */
  private def refused(spark: SparkSession, query: StatefulQuery, folder: File): IncompatibleState = {
    val before = content(folder)
    val error = intercept[IncompatibleState](query.run(spark, folder.getPath, StatefulQuery.batches(1)))
    assert(content(folder) == before, "nothing was written")
    error
  }

  test("another backend, storage or number of key groups is refused by name before anything is written") {
    LocalSpark(LocalSpark.provider, LocalSpark.extension, plugin) { spark =>
      for (query <- Seq(StatefulQuery.aggregation, join); was <- Seq("rocksdb", "hashmap")) withFolder { folder =>
        setting(spark, Type -> was)(query.run(spark, folder.getPath, StatefulQuery.batches(2)): Unit)
        val now = if (was == "rocksdb") "hashmap" else "rocksdb"
        setting(spark, Type -> now) {
          val error = refused(spark, query, folder)
          assert(error.found.contains(was) && error.found.contains(now))
          assert(error.action.contains(Type) && error.action.contains(was))
        }
        setting(spark, Type -> "MemoryStateBackend") {
          assert(refused(spark, query, folder).action.contains(s"set $Storage back to filesystem"))
        }
        setting(spark, Type -> was, ProviderSettings.MaxParallelism -> "10") {
          assert(refused(spark, query, folder).action.contains(s"set ${ProviderSettings.MaxParallelism} back to 57600"))
        }
      }
    }
  }

  test("what the newest files of a damaged folder do not say, older ones do") {
    LocalSpark(LocalSpark.provider, LocalSpark.extension) { spark =>
      withFolder { folder =>
        setting(spark, Type -> "hashmap")(
          StatefulQuery.aggregation.run(spark, folder.getPath, StatefulQuery.batches(3)): Unit
        )
        val state = new File(folder, "state/0/0")
        val files = state.listFiles().flatMap(file => VersionRef.parse(file.getName).map(_._1.version -> file))
        val newest = files.maxBy(_._1)._2
        Files.write(newest.toPath, Array[Byte](1, 2, 3))
        assert(refused(spark, StatefulQuery.aggregation, folder).found.contains("hashmap"))
      }
    }
  }

  test("a reader takes the backend that wrote the state, whatever is set") {
    def read(spark: SparkSession, folder: File): Set[Row] =
      spark.read.format("statestore").option("path", folder.getPath).load().selectExpr("key", "value").collect().toSet

    LocalSpark(LocalSpark.provider, LocalSpark.extension) { spark =>
      for (written <- Seq("rocksdb", "hashmap")) withFolder { folder =>
        setting(spark, Type -> written) {
          StatefulQuery.aggregation.run(spark, folder.getPath, StatefulQuery.batches(2)): Unit
          val rows = read(spark, folder)
          assert(rows.size > 50)
          for (set <- Seq("rocksdb", "hashmap")) setting(spark, Type -> set)(assert(read(spark, folder) == rows))
        }
      }
    }
  }

  test("a provider of Spark's is left alone") {
    LocalSpark(LocalSpark.extension) { spark =>
      withFolder { folder =>
        StatefulQuery.aggregation.run(spark, folder.getPath, StatefulQuery.batches(1)): Unit
        setting(spark, Type -> "nonsense") {
          StatefulQuery.aggregation.run(spark, folder.getPath, StatefulQuery.batches(1)): Unit
        }
      }
    }
  }
}
