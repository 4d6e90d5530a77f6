package io.snapline.spark

import java.math.BigDecimal
import java.sql.{Date, Timestamp}

import scala.annotation.nowarn

import org.apache.spark.sql.{DataFrame, Dataset, SparkSession}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming._

/** What the queries read. Keys may be null. */
final case class Event(key: String, number: Int, time: Timestamp)

/** A query with one stateful operator (or a few) of Spark over a stream of events.
  *
  * @param settings
  *   that make Spark plan it so
  * @param extension
  *   whether Snapline's provider serves it with the extension only
  * @param testing
  *   whether Spark lets only its own tests run it
  */
final case class StatefulQuery(
    name: String,
    mode: String = "append",
    settings: Map[String, String] = Map.empty,
    extension: Boolean = false,
    testing: Boolean = false,
    trigger: Trigger = Trigger.AvailableNow()
)(build: Dataset[Event] => DataFrame) {

  /** Runs batches, each a start of the query from its checkpoint, and returns the last run. */
  def run(spark: SparkSession, checkpoint: String, batches: Seq[Seq[Event]]): StreamingQuery = {
    import spark.implicits._
    withSettings(spark) {
      val input = MemoryStream[Event](spark)
      val frame = this.frame(input.toDS())
      batches.map { batch =>
        input.addData(batch)
        val query = frame.writeStream.format("noop").outputMode(mode).option("checkpointLocation", checkpoint)
          .trigger(trigger).start()
        try query.awaitTermination()
        finally query.stop()
        query
      }.last
    }
  }

  /** The query itself. */
  def frame(events: Dataset[Event]): DataFrame = build(events)

  /** Plans and starts it as it has to be planned. */
  def withSettings[A](spark: SparkSession)(body: => A): A = {
    val before = settings.keys.map(key => key -> spark.conf.getOption(key)).toMap
    settings.foreach { case (key, value) => spark.conf.set(key, value) }
    if (testing) System.setProperty("spark.testing", "true"): Unit
    try body
    finally {
      System.clearProperty("spark.testing"): Unit
      before.foreach { case (key, value) => value.fold(spark.conf.unset(key))(spark.conf.set(key, _)) }
    }
  }

  override def toString: String = name
}

object StatefulQuery {

  /** Batches of events, later ones after the watermark of earlier ones; some keys have no event, some no key. */
  def batches(count: Int): Seq[Seq[Event]] = (0 until count).map { batch =>
    (0 until 120).map { i =>
      val key = if (i % 40 == 7) null else s"k${(i * 7 + batch) % 90}"
      Event(key, i % 13, new Timestamp((batch * 600L + i) * 1000L))
    }
  }

  private val watermark = "10 seconds"

  private def join(format: Int, kind: String): StatefulQuery = StatefulQuery(
    s"$kind join, state format $format",
    settings = Map("spark.sql.streaming.join.stateFormatVersion" -> format.toString),
    testing = format == 1 || format == 4
  ) { events =>
    val left = events.withWatermark("time", watermark).toDF("leftKey", "leftNumber", "leftTime")
    val right = events.withWatermark("time", watermark)
      .select(col("key") as "rightKey", col("number").cast("long") as "rightNumber", col("time") as "rightTime")
    val near = expr(
      "leftKey = rightKey AND leftNumber = rightNumber AND rightTime BETWEEN leftTime AND leftTime + INTERVAL 5 MINUTES"
    )
    left.join(right, near, kind)
  }

  private def groups(format: Int): StatefulQuery = StatefulQuery(
    s"flatMapGroupsWithState, state format $format",
    settings = Map("spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion" -> format.toString)
  ) { events =>
    import events.sparkSession.implicits._
    events.withWatermark("time", watermark).groupByKey(event => (event.key, event.number))
      .flatMapGroupsWithState(OutputMode.Append, GroupStateTimeout.EventTimeTimeout)(CountGroups.flat).toDF()
  }

  val aggregation: StatefulQuery = StatefulQuery("aggregation", "update")(_.groupBy("key").agg(sum("number")))

  /** Every type of column a query may group by. */
  private val typed: StatefulQuery = StatefulQuery("aggregation by many types", "update") { events =>
    val n = col("number")
    events.select(
      col("key"),
      n.cast("byte") as "byte",
      n.cast("short") as "short",
      n.cast("long") as "long",
      when(n === 3, Float.NaN).otherwise(n.cast("float") * -0.0f) as "float",
      when(n === 5, null).otherwise(n.cast("double") / 3) as "double",
      lit(new BigDecimal("12345678901234567890.12")) * n as "decimal",
      n % 2 === 0 as "boolean",
      col("key").cast("binary") as "binary",
      col("time"),
      lit(Date.valueOf("2026-01-01")) as "date",
      struct(n, col("key")) as "struct",
      array(n, n + 1) as "array",
      expr("make_dt_interval(number)") as "interval"
    ).groupBy(Seq(
      "key",
      "byte",
      "short",
      "long",
      "float",
      "double",
      "decimal",
      "boolean",
      "binary",
      "time",
      "date",
      "struct",
      "array",
      "interval"
    ).map(col): _*).count()
  }

  /** Everything Spark has built in. */
  val all: Seq[StatefulQuery] = Seq(
    aggregation,
    typed,
    StatefulQuery("aggregation without a key", "update")(_.agg(sum("number"))),
    StatefulQuery("windowed aggregation") {
      _.withWatermark("time", watermark).groupBy(window(col("time"), "1 minute"), col("key")).count()
    },
    StatefulQuery("deduplication")(_.dropDuplicates("key", "number").toDF()),
    StatefulQuery("deduplication with a watermark") {
      _.withWatermark("time", watermark).dropDuplicates("key", "time").toDF()
    },
    StatefulQuery("deduplication within a watermark") {
      _.withWatermark("time", watermark).dropDuplicatesWithinWatermark("key", "number").toDF()
    },
    StatefulQuery("session window") {
      _.withWatermark("time", watermark).groupBy(session_window(col("time"), "5 seconds"), col("key"), col("number"))
        .count()
    },
    StatefulQuery("global limit")(_.limit(150).toDF()),
    groups(1),
    groups(2),
    StatefulQuery("mapGroupsWithState", "update") { events =>
      import events.sparkSession.implicits._
      events.groupByKey(_.number).mapGroupsWithState(GroupStateTimeout.NoTimeout)(CountGroups.one _).toDF()
    },
    StatefulQuery("deduplication, then two aggregations") {
      _.withWatermark("time", watermark).dropDuplicates("key", "time")
        .groupBy(window(col("time"), "1 minute"), col("key")).count()
        .groupBy(window(col("window"), "5 minutes")).agg(sum("count"))
    }
  ) ++ SettingsOfSpark.joinFormats.map(join(_, "inner")) :+ join(3, "leftOuter")

  /** Two operators without a shuffle between them, which Spark's own providers refuse: it lends the second the read
    * store of the first.
    */
  val inOneStage: StatefulQuery = StatefulQuery("aggregation, then deduplication in the same stage") {
    _.withWatermark("time", watermark).groupBy(window(col("time"), "1 minute"), col("key")).count()
      .dropDuplicates("window", "key")
  }

  /** On processing time Spark always has another batch to run. */
  @nowarn("cat=deprecation")
  private def once: Trigger = Trigger.Once()

  /** Spark's transformWithState, which needs the extension to run on another provider than its RocksDB one. */
  val transform: StatefulQuery = StatefulQuery(
    "transformWithState",
    "update",
    extension = true,
    trigger = once
  ) { events =>
    import events.sparkSession.implicits._
    events.withWatermark("time", watermark).groupByKey(event => (event.key, event.number))
      .transformWithState(new EveryState, TimeMode.ProcessingTime(), OutputMode.Update()).toDF()
  }
}
