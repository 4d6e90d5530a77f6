package io.snapline.spark.promises

import java.io.File
import java.nio.file.Files

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.state.snapline.StateInternals
import org.apache.spark.sql.functions._
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Seconds, Span}

import io.snapline.snapshot.format.VersionRef
import io.snapline.spark.{LocalSpark, StatefulQuery}
import io.snapline.state.LocalFolder

/** What a drop-in user does not turn on costs nothing and changes nothing. */
class Promise6UnusedCostsNothingSpec extends AnyFunSuite with Eventually {
  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(20, Seconds), Span(1, Seconds))

  /** The one of Spark's that runs every query. */
  private val sparks = LocalSpark.ProviderClass ->
    "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

  private val builtIn = StatefulQuery.all.filterNot(_.testing)

  /** What one Spark makes of every query. */
  private def observe(queries: Seq[StatefulQuery], settings: (String, String)*): Map[String, Observed] = {
    val works = new WorkCounter
    val seen = LocalSpark(settings :+ ("spark.sql.shuffle.partitions" -> "2"): _*) { spark =>
      spark.sparkContext.addSparkListener(works)
      queries.map { query =>
        val checkpoint = Files.createTempDirectory("checkpoint").toFile
        try {
          val last = query.run(spark, checkpoint.getPath, StatefulQuery.batches(1))
          query.name -> Observed(PlanText.of(last), last.recentProgress.length, filesOf(checkpoint))
        } finally LocalFolder.delete(checkpoint)
      }
    }
    // Spark has stopped, so the listener has heard everything.
    seen.toMap + ("work" -> Observed(Seq(works.toString), 0, Set.empty))
  }

  private def filesOf(folder: File): Set[String] = {
    val root = folder.toPath
    val walk = Files.walk(root)
    try walk.iterator().asScala.filter(Files.isRegularFile(_)).map(root.relativize(_).toString).toSet
    finally walk.close()
  }

  private lazy val asSparkIs = observe(builtIn, sparks)
  private lazy val providerAlone = observe(builtIn, LocalSpark.provider)

  test("the provider alone: plans, batches, jobs and tasks are those of Spark") {
    for ((name, observed) <- asSparkIs) {
      assert(providerAlone(name).plan == observed.plan, name)
      assert(providerAlone(name).batches == observed.batches, name)
    }
    assert(asSparkIs("work").plan.head.matches("[1-9].*"), "the listener heard something")
  }

  test("the provider alone: the checkpoint has other files in the folders of partitions only") {
    // state/<operator>/<partition>/[<store>/]_metadata is Spark's.
    val inPartition = """state/\d+/\d+/((?!.*_metadata/).*/)?([^/]+)""".r
    for ((name, observed) <- asSparkIs) {
      def outside(files: Set[String]): Set[String] =
        files.filterNot(inPartition.matches).map(_.replaceAll("[0-9a-f]{8}-[0-9a-f-]{27}", "uuid"))
      assert(outside(providerAlone(name).files) == outside(observed.files), name)
      providerAlone(name).files.foreach {
        case inPartition(folder, file) if folder != null && folder.endsWith("sst/") =>
          assert(file.endsWith(".sst"), name)
        case inPartition(_, file) => assert(VersionRef.parse(file).isDefined, s"$name: $file")
        case _ => ()
      }
      if (name != "work") assert(providerAlone(name).files.exists(inPartition.matches))
    }
  }

  test("the extension, unused: plans of stateful and stateless queries, batches, jobs and tasks are those without") {
    val both = observe(builtIn, LocalSpark.provider, LocalSpark.extension)
    for ((name, observed) <- providerAlone) {
      assert(both(name).plan == observed.plan, name)
      assert(both(name).batches == observed.batches, name)
    }
    val plain = LocalSpark()(stateless)
    assert(LocalSpark(LocalSpark.provider)(stateless) == plain)
    assert(LocalSpark(LocalSpark.provider, LocalSpark.extension)(stateless) == plain)
  }

  /** Plans of batch queries, and of a stream without state. */
  private def stateless(spark: SparkSession): Seq[Seq[String]] = {
    val numbers = spark.range(1000).toDF("n")
    val frames = Seq(
      numbers.filter("n % 2 = 0"),
      numbers.groupBy(expr("n % 7")).agg(sum("n"), countDistinct("n")),
      numbers.join(numbers.withColumnRenamed("n", "m"), expr("n = m + 1")),
      numbers.orderBy(desc("n")).limit(5),
      numbers.withColumn("rank", expr("rank() OVER (PARTITION BY n % 3 ORDER BY n)"))
    )
    val batch = frames.map { frame =>
      frame.collect(): Unit
      PlanText.of(frame.queryExecution.executedPlan)
    }
    val checkpoint = Files.createTempDirectory("checkpoint").toFile
    try {
      val query = StatefulQuery("stateless")(_.filter("number > 3").selectExpr("key", "number + 1"))
      batch :+ PlanText.of(query.run(spark, checkpoint.getPath, StatefulQuery.batches(1)))
    } finally LocalFolder.delete(checkpoint)
  }

  test("a query on a provider of Spark's is left alone, extension or not") {
    val queries = Seq(StatefulQuery.aggregation, StatefulQuery.transform)
    val without = observe(queries, sparks)
    val unused = observe(queries, sparks, LocalSpark.extension)
    for ((name, observed) <- without) {
      assert(unused(name).plan == observed.plan, name)
      assert(unused(name).batches == observed.batches, name)
      assert(
        unused(name).files.map(_.replaceAll("[0-9a-f]{8}-[0-9a-f-]{27}", "uuid")) ==
          observed.files.map(_.replaceAll("[0-9a-f]{8}-[0-9a-f-]{27}", "uuid")),
        name
      )
    }
    assert(without("transformWithState").plan.exists(_.endsWith(".TransformWithStateExec")))
  }

  test("settings are untouched, and nothing is left behind: no thread, no local file") {
    val snapshots = "spark.sql.streaming.stateStore.minDeltasForSnapshot" -> "1"
    // It may have run in this JVM before, and its pools are never closed.
    val ofIdlePoolSpec = "snapline-idle-test"
    def threads: Set[String] =
      Thread.getAllStackTraces.keySet.asScala.map(_.getName).filter(_.contains("snapline")).toSet - ofIdlePoolSpec
    def folders(disk: File): Seq[String] = disk.list().filter(_.startsWith("snapline")).toSeq

    val disk = LocalSpark(LocalSpark.provider, LocalSpark.extension, snapshots) { spark =>
      val probe = StateInternals.localFolder("probe")
      val before = settingsOf(spark)
      val checkpoint = Files.createTempDirectory("checkpoint").toFile
      try {
        StatefulQuery.aggregation.run(spark, checkpoint.getPath, StatefulQuery.batches(2)): Unit
        assert(filesOf(checkpoint).exists(_.endsWith(".handle")), "snapshots were made")
        assert(threads.nonEmpty && folders(probe.getParentFile).nonEmpty, "there was something to leave behind")
        assert(settingsOf(spark) == before)
      } finally LocalFolder.delete(checkpoint)
      probe.getParentFile
    }
    assert(folders(disk).isEmpty)
    eventually(assert(threads.isEmpty))
  }

  private def settingsOf(spark: SparkSession): Seq[Map[String, String]] = Seq(
    spark.conf.getAll,
    spark.sparkContext.getConf.getAll.toMap,
    spark.sparkContext.hadoopConfiguration.asScala.map(entry => entry.getKey -> entry.getValue).toMap,
    System.getProperties.asScala.toMap
  )
}

/** @param plan
  *   of the last batch
  * @param batches
  *   of the last run
  * @param files
  *   of the checkpoint
  */
private final case class Observed(plan: Seq[String], batches: Int, files: Set[String])
