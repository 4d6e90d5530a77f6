package io.snapline.spark

import java.nio.file.Files

import org.apache.spark.sql.{Dataset, Encoders, SparkSession}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.streaming._
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

/** Counts the rows of each key. */
class CountRows extends StatefulProcessor[String, String, (String, Long)] {
  @transient private var count: ValueState[Long] = _

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit =
    count = getHandle.getValueState("count", Encoders.scalaLong, TTLConfig.NONE)

  override def handleInputRows(key: String, rows: Iterator[String], timers: TimerValues): Iterator[(String, Long)] = {
    count.update((if (count.exists()) count.get() else 0L) + rows.size)
    Iterator(key -> count.get())
  }
}

class SnaplineExtensionSpec extends AnyFunSuite with BeforeAndAfterAll {
  private lazy val spark = SparkSession
    .builder()
    .master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.sql.extensions", classOf[SnaplineExtension].getName)
    .config("spark.sql.streaming.stateStore.providerClass", classOf[SnaplineStateStoreProvider].getName)
    .getOrCreate()

  override def afterAll(): Unit = spark.stop()

  test("transformWithState runs on the provider, and carries on from its checkpoint") {
    val session = spark
    import session.implicits._
    val checkpoint = Files.createTempDirectory("checkpoint").toString
    val input = MemoryStream[String](session)

    /** What one run of the query puts out. */
    def run(): Set[(String, Long)] = {
      var rows = Set.empty[(String, Long)]
      val query = input
        .toDS()
        .groupByKey(identity)
        .transformWithState(new CountRows, TimeMode.None(), OutputMode.Update())
        .writeStream
        .outputMode("update")
        .option("checkpointLocation", checkpoint)
        .foreachBatch((batch: Dataset[(String, Long)], _: Long) => rows ++= batch.collect())
        .start()
      try query.processAllAvailable()
      finally query.stop()
      rows
    }

    input.addData("a", "b", "a")
    assert(run() == Set("a" -> 2L, "b" -> 1L))
    input.addData("a")
    assert(run() == Set("a" -> 3L))
  }

  test("one transformWithState after another, as in a plan with several exchanges") {
    val session = spark
    import session.implicits._
    val input = MemoryStream[String](session)
    input.addData("a", "b", "a")
    var rows = Set.empty[(String, Long)]
    val query = input
      .toDS()
      .groupByKey(identity)
      .transformWithState(new CountRows, TimeMode.None(), OutputMode.Append())
      .map(_._2.toString)
      .groupByKey(identity)
      .transformWithState(new CountRows, TimeMode.None(), OutputMode.Append())
      .writeStream
      .outputMode("append")
      .option("checkpointLocation", Files.createTempDirectory("checkpoint").toString)
      .foreachBatch((batch: Dataset[(String, Long)], _: Long) => rows ++= batch.collect())
      .start()
    try query.processAllAvailable()
    finally query.stop()
    assert(rows == Set("1" -> 1L, "2" -> 1L))
  }
}
