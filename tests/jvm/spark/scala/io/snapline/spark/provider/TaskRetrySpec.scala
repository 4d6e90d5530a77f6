package io.snapline.spark.provider

import java.nio.file.Files

import org.apache.spark.TaskContext
import org.apache.spark.sql.{DataFrame, Dataset, Row, SparkSession}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.{GroupState, GroupStateTimeout}
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.WholeOnly
import io.snapline.spark.LocalSpark
import io.snapline.state.LocalFolder

/** Tasks of a running query that fail, each at its first attempt. */
class TaskRetrySpec extends AnyFunSuite with WholeOnly {

  /** Rows come out once their state is committed. */
  private def after(numbers: Dataset[Long]): DataFrame = {
    val failing = udf(TaskRetrySpec.fail _).asNondeterministic()
    numbers.toDF("key").groupBy("key").agg(sum(col("key") + 1) as "sum").select(
      failing(col("key")) as "key",
      col("sum")
    )
  }

  /** Some of the state is put already. */
  private def within(numbers: Dataset[Long]): DataFrame = {
    import numbers.sparkSession.implicits._
    numbers.groupByKey(identity).mapGroupsWithState(GroupStateTimeout.NoTimeout)(TaskRetrySpec.add _).toDF("key", "sum")
  }

  for (format <- 1 to 2; (when, query) <- Seq("before they commit" -> within _, "after they have committed" -> after _))
    test(s"format $format: tasks fail $when, and every row counts once") {
      val checkpoint = Files.createTempDirectory("checkpoint").toFile
      try {
        val settings = Seq(
          LocalSpark.provider,
          "spark.master" -> "local[2,4]",
          "spark.sql.streaming.stateStore.checkpointFormatVersion" -> format.toString
        )
        val sums = LocalSpark(settings: _*)(run(_, checkpoint.getPath, query))
        assert(sums == (0L until 40L).map(key => key -> 3 * (key + 1)).toMap)
      } finally LocalFolder.delete(checkpoint)
    }

  /** Three batches in which every key comes once. */
  private def run(spark: SparkSession, checkpoint: String, build: Dataset[Long] => DataFrame): Map[Long, Long] = {
    import spark.implicits._
    val input = MemoryStream[Long](spark)
    var sums = Map.empty[Long, Long]
    val query = build(input.toDS()).writeStream.outputMode("update").option("checkpointLocation", checkpoint)
      .foreachBatch { (rows: Dataset[Row], _: Long) =>
        sums ++= rows.as[(Long, Long)].collect(): Unit
      }
      .start()
    try {
      (1 to 3).foreach { _ =>
        input.addData(0L until 40L)
        query.processAllAvailable()
      }
      sums
    } finally query.stop()
  }
}

object TaskRetrySpec {

  private def fail(key: Long): Long = {
    if (TaskContext.get().attemptNumber() == 0 && key % 4 == 0) throw new IllegalStateException("injected")
    key
  }

  private def add(key: Long, values: Iterator[Long], state: GroupState[Long]): (Long, Long) = {
    state.update(state.getOption.getOrElse(0L) + values.map(_ + 1).sum)
    fail(key) -> state.get
  }
}
