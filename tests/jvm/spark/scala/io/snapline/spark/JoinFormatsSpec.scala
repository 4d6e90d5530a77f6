package io.snapline.spark

import java.nio.file.{Files, Path}

import com.fasterxml.jackson.databind.ObjectMapper
import org.scalatest.funsuite.AnyFunSuite

class JoinFormatsSpec extends AnyFunSuite {
  private val setting = "spark.sql.streaming.join.stateFormatVersion"

  test("a new join gets the state format that is asked for") {
    LocalSpark(LocalSpark.provider) { spark =>
      val joins =
        StatefulQuery.all.filter(_.name.startsWith("inner join")).map(join => join.settings(setting).toInt -> join)
      val planned = joins.map { case (asked, join) =>
        val checkpoint = Files.createTempDirectory("join")
        join.run(spark, checkpoint.toString, StatefulQuery.batches(1)): Unit
        asked -> recorded(checkpoint)
      }
      assert(planned.map(_._1) == SettingsOfSpark.joinFormats)
      planned.foreach { case (asked, got) => assert(got == asked) }
    }
  }

  /** What the query goes by in all its life. */
  private def recorded(checkpoint: Path): Int = {
    val metadata = Files.readAllLines(checkpoint.resolve("offsets/0")).get(1)
    new ObjectMapper().readTree(metadata).get("conf").get(setting).asText.toInt
  }
}
