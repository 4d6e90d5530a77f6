package io.snapline.spark

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.execution.streaming.state.StateStore
import org.scalatest.concurrent.Eventually._
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

/** Which of a provider's methods Spark's maintenance calls differs between its lines. */
class MaintenanceSpec extends AnyFunSuite {
  test("Spark's own maintenance removes what a running query keeps no more") {
    StateStore.stop() // Its timer is that of the first query of the JVM.
    LocalSpark(
      LocalSpark.provider,
      "spark.sql.streaming.stateStore.maintenanceInterval" -> "100ms",
      "spark.sql.streaming.stateStore.minDeltasForSnapshot" -> "2",
      "spark.sql.streaming.minBatchesToRetain" -> "2"
    ) { spark =>
      import spark.implicits._
      val checkpoint = Files.createTempDirectory("maintenance")
      val input = MemoryStream[Int](spark)
      val query = input.toDF().groupBy("value").count().writeStream.format("noop").outputMode("update")
        .option("checkpointLocation", checkpoint.toString).start()
      try {
        (1 to 8).foreach { n =>
          input.addData(1 to n)
          query.processAllAvailable()
        }
        eventually(timeout(Span(30, Seconds)), interval(Span(100, Millis))) {
          (0 until LocalSpark.Partitions).foreach { partition =>
            val kept = versions(checkpoint.resolve(s"state/0/$partition"))
            assert(kept.min > 1L && kept.max == 8L, s"partition $partition has versions ${kept.mkString(" ")}")
          }
        }
      } finally query.stop()
    }
  }

  /** Of the store's changelogs and handles. */
  private def versions(store: Path): Set[Long] = {
    val files = Files.list(store)
    try files.iterator.asScala.map(_.getFileName.toString).collect { case Versioned(version) => version.toLong }.toSet
    finally files.close()
  }

  private val Versioned = """(\d+)_.*""".r
}
