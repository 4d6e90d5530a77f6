package io.snapline.spark.ui

import java.io.File
import java.net.{HttpURLConnection, URI}
import java.nio.file.Files

import scala.io.Source
import scala.jdk.CollectionConverters._
import scala.util.Using

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.snapline.checkpoint.CoordinatorSettings
import io.snapline.error.InvalidConfiguration
import io.snapline.spark.coordinator.{CheckpointDriver, CheckpointSpec, Checkpointing}
import io.snapline.spark.{LocalSpark, StatefulQuery}
import io.snapline.spark.plugin.SnaplinePlugin
import io.snapline.spark.settings.UiSettings

/** The tab of a Spark that runs. */
class CheckpointsTabSpec extends AnyFunSuite with Eventually {
  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(60, Seconds), Span(50, Millis))

  private val plugin = "spark.plugins" -> classOf[SnaplinePlugin].getName
  private val withUi =
    Seq(LocalSpark.provider, LocalSpark.extension, plugin, "spark.ui.enabled" -> "true", "spark.ui.port" -> "0")

  private def folder(): String = Files.createTempDirectory("snapline-tab").toString

  private def start(spark: SparkSession, folder: String): CheckpointDriver =
    Checkpointing.start(
      spark,
      folder,
      CheckpointSpec(CoordinatorSettings(Some(10), 60000, tolerableFailures = 9, retained = 2))
    )

  private def get(spark: SparkSession, path: String): (Int, String) = {
    val connection =
      new URI(spark.sparkContext.uiWebUrl.get + path).toURL.openConnection().asInstanceOf[HttpURLConnection]
    val code = connection.getResponseCode
    val stream = if (code < 400) connection.getInputStream else connection.getErrorStream
    (code, if (stream == null) "" else Using.resource(Source.fromInputStream(stream, "UTF-8"))(_.mkString))
  }

  private def json(spark: SparkSession, path: String): JsonNode = {
    val (code, body) = get(spark, s"/api/v1/applications/${spark.sparkContext.applicationId}/checkpoints$path")
    assert(code == 200, body)
    new ObjectMapper().readTree(body)
  }

  private def threads: Set[String] = Thread.getAllStackTraces.keySet.asScala.map(_.getName).toSet

  /** Takes checkpoints of a query that is fed by hand. */
  private final class Fed(spark: SparkSession, val checkpoint: String) {
    import spark.implicits._
    private val input = MemoryStream[Int](spark)

    def run(name: String, batches: Int): Unit = {
      val query = input.toDF().groupBy(col("value") % 7 as "key").agg(count("*")).writeStream.queryName(name)
        .format("noop").outputMode("update").option("checkpointLocation", checkpoint).start()
      try (0 until batches).foreach { i =>
          input.addData(i)
          query.processAllAvailable()
          Thread.sleep(20)
        }
      finally query.stop()
    }
  }

  test("an application whose queries take no checkpoints has no tab and no thread of it") {
    LocalSpark(withUi: _*) { spark =>
      StatefulQuery.all.head.run(spark, folder(), StatefulQuery.batches(1))
      assert(!get(spark, "/jobs/")._2.contains("/checkpoints/") && get(spark, "/jobs/")._2.contains("/executors/"))
      assert(!threads("snapline-ui"))
      assert(json(spark, "").size == 0)
    }
  }

  test("two queries and a later start of one, while they run and when they have ended") {
    val events = Files.createTempDirectory("snapline-events").toFile
    val logged = Seq(
      "spark.eventLog.enabled" -> "true",
      "spark.eventLog.dir" -> events.toURI.toString,
      "spark.eventLog.rolling.enabled" -> "false",
      "spark.eventLog.compress" -> "false"
    )
    LocalSpark(withUi ++ logged: _*) { spark =>
      val (first, second) = (new Fed(spark, folder()), new Fed(spark, folder()))
      val driver = start(spark, first.checkpoint)
      first.run("<b>one</b>", 3)
      eventually(assert(json(spark, "").get(0).get("run_id").asText.nonEmpty))
      val id = json(spark, "").get(0).get("id").asText
      eventually(assert(json(spark, s"/$id").get("counts").get("completed").asInt >= 2))
      assert(json(spark, "").get(0).get("status").asText == "RUNNING")
      driver.end("CANCELED")
      for (again <- Seq(second, first)) {
        val other = start(spark, again.checkpoint)
        again.run("two", 1)
        other.end("SUSPENDED")
      }
      eventually(assert(json(spark, "").asScala.map(_.get("status").asText).toSeq ==
        Seq("SUSPENDED", "SUSPENDED", "CANCELED")))
      val all = json(spark, "").asScala.toSeq
      assert(all(0).get("query_id") == all(2).get("query_id") && all(0).get("query_id") != all(1).get("query_id"))

      val (code, page) = get(spark, "/checkpoints/")
      assert(code == 200 && page.contains("&lt;b&gt;one&lt;/b&gt;") && !page.contains("<b>one</b>"))
      assert(get(spark, "/jobs/")._2.contains("/checkpoints/"))
      for (view <- Seq("overview", "history", "summary", "configuration")) {
        assert(get(spark, s"/checkpoints/query/?id=$id&view=$view")._1 == 200)
      }
      assert(get(spark, s"/checkpoints/checkpoint/?id=$id&checkpoint=1")._2.contains("Partitions of Operator 0"))
      // What a reader of links may try.
      assert(get(spark, "/checkpoints/query/?id=%3Cscript%3E&view=%27")._2.contains("not known here"))

      val details = json(spark, s"/$id/details/1")
      val operator = details.get("tasks").fieldNames.next()
      assert(json(spark, s"/$id/details/1/subtasks/$operator").get("subtasks").size == LocalSpark.Partitions)
      assert(json(spark, s"/$id/config").get("tolerable_failed_checkpoints").asInt == 9)
      val application = s"/api/v1/applications/${spark.sparkContext.applicationId}/checkpoints"
      for (unknown <- Seq("/x", "/x/config", s"/$id/details/99", s"/$id/details/1/subtasks/9")) {
        val (code, body) = get(spark, application + unknown)
        assert(code == 404 && body.contains("no such query"), body)
      }
      assert(get(spark, s"$application/$id?length=-1")._1 == 400)
    }
    val log = events.listFiles.map((f: File) => Files.readString(f.toPath)).mkString
    for (
      event <- Seq(
        "CheckpointingStarted",
        "CheckpointingRunBegun",
        "CheckpointChanged",
        "CheckpointDiscarded",
        "CheckpointingEnded"
      )
    ) {
      assert(log.contains(s""""Event":"io.snapline.spark.ui.$event""""))
    }
    assert(!threads("snapline-ui"), "it ends with its Spark")
  }

  test("switched off there is no tab, and nothing in the event log; a wrong setting starts no query") {
    LocalSpark(withUi :+ (UiSettings.Enabled -> "false"): _*) { spark =>
      val checkpoint = folder()
      val driver = start(spark, checkpoint)
      new Fed(spark, checkpoint).run("off", 1)
      driver.end("SUSPENDED")
      assert(!get(spark, "/jobs/")._2.contains("/checkpoints/") && json(spark, "").size == 0)
    }
    LocalSpark(withUi :+ (UiSettings.RetainedDetails -> "-1"): _*) { spark =>
      assert(intercept[InvalidConfiguration](start(spark, folder())).getMessage.contains(UiSettings.RetainedDetails))
    }
  }

  test("without a user interface checkpoints are taken as ever") {
    LocalSpark(LocalSpark.provider, LocalSpark.extension, plugin) { spark =>
      val checkpoint = folder()
      val driver = start(spark, checkpoint)
      new Fed(spark, checkpoint).run("headless", 1)
      driver.end("SUSPENDED")
      assert(new File(checkpoint, "snapline/chk-1/_metadata").exists)
    }
  }
}
