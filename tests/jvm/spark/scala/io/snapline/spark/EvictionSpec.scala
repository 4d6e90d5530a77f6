package io.snapline.spark

import java.nio.file.Files
import java.sql.Timestamp

import scala.collection.mutable
import scala.util.Random

import org.apache.spark.sql.{Dataset, Row, SparkSession}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming._
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.Cases
import io.snapline.spark.provider.{Evictor, ProviderSettings}

/** With a time index a query removes, and puts out, exactly what it does when it walks over all its state. */
class EvictionSpec extends AnyFunSuite {
  private val settings = Seq(LocalSpark.provider, LocalSpark.extension, "spark.sql.shuffle.partitions" -> "2")

  /** Operators that remove rows by a watermark or a timeout. */
  private val queries = StatefulQuery.all.filter { query =>
    Seq("windowed", "watermark", "session", "flatMapGroups", "then two").exists(query.name.contains) ||
    query.name.contains("join") && !query.testing
  } ++ Seq(
    StatefulQuery("windowed aggregation, updates", "update") {
      _.withWatermark("time", "10 seconds").groupBy(window(col("time"), "1 minute", "20 seconds"), col("key")).count()
    },
    StatefulQuery("aggregation by the time itself") {
      _.withWatermark("time", "10 seconds").groupBy("number", "time", "key").agg(max("number"))
    },
    StatefulQuery("timeouts that move", "update") { events =>
      import events.sparkSession.implicits._
      events.withWatermark("time", "10 seconds").groupByKey(_.number)
        .flatMapGroupsWithState(OutputMode.Update, GroupStateTimeout.EventTimeTimeout)(MovingTimeout.count).toDF()
    },
    StatefulQuery("join by the window", settings = Map("spark.sql.streaming.join.stateFormatVersion" -> "2")) {
      events =>
        def windows(side: String) = events.withWatermark("time", "10 seconds")
          .select(window(col("time"), "20 seconds") as "window", col("key"), col("number") as side)
        windows("left").join(windows("right"), Seq("window", "key"), "leftOuter")
    },
    StatefulQuery("in one stage")(events => StatefulQuery.inOneStage.frame(events))
  )

  /** Time goes on by 20 seconds a batch, jumps now and then, and rows come too late. */
  private def batches(seed: Int, count: Int): Seq[Seq[Event]] = {
    val random = new Random(seed)
    var now = 1356998400000L
    (0 until count).map { _ =>
      now += (if (random.nextInt(6) == 0) 600000 else 20000)
      (0 until random.nextInt(150)).map { _ =>
        val time = now - (random.nextDouble() * random.nextDouble() * 120000).toLong
        val key = if (random.nextInt(40) == 0) null else s"k${random.nextInt(60)}"
        Event(key, random.nextInt(13), if (random.nextInt(50) == 0) null else new Timestamp(time))
      }
    }
  }

  private def run(spark: SparkSession, query: StatefulQuery, input: Seq[Seq[Event]], restartEvery: Int): Run = {
    import spark.implicits._
    val checkpoint = Files.createTempDirectory("eviction").toString
    val stream = MemoryStream[Event](spark)
    val outputs = mutable.Buffer.empty[Seq[String]]
    val progress = mutable.Buffer.empty[StreamingQueryProgress]
    input.grouped(restartEvery).foreach { life =>
      val started = query.withSettings(spark) {
        query.frame(stream.toDS()).writeStream.outputMode(query.mode)
          .option("checkpointLocation", checkpoint)
          // In the order of partitions and of rows.
          .foreachBatch((rows: Dataset[Row], _: Long) => outputs += rows.collect().toSeq.map(_.toString): Unit)
          .start()
      }
      try life.foreach { batch =>
          stream.addData(batch)
          started.processAllAvailable()
        }
      finally {
        started.stop()
        progress ++= started.recentProgress.filter(_.stateOperators.nonEmpty)
      }
    }
    def sum(of: StateOperatorProgress => Long): Long = progress.flatMap(_.stateOperators).map(of).sum
    val operators = progress.last.stateOperators.toSeq.map(_.operatorName).reverse
    val state =
      for {
        (name, operator) <- operators.zipWithIndex
        side <- sidesOf(query, name)
        reader = spark.read.format("statestore").option("operatorId", operator.toString).option("joinSide", side)
        row <- reader.load(checkpoint).collect().toSeq.map(_.toString).sorted
      } yield s"$operator $side $row"
    Run(
      outputs.toSeq,
      state,
      sum(_.numRowsRemoved),
      sum(_.customMetrics.getOrDefault("snaplineEvictionRowsRead", 0L)),
      progress.toSeq.flatMap(_.stateOperators.map(_.numRowsTotal))
    )
  }

  /** Some of them on the heap: the index is the same, and rows are found otherwise. */
  private val onTheHeap =
    Set("windowed aggregation", "session window", "inner join, state format 2", "timeouts that move")

  /** One for each way to find the time of a row. */
  private val always = Set(
    "windowed aggregation",
    "deduplication within a watermark",
    "session window",
    "inner join, state format 3",
    "timeouts that move"
  )

  private val cases =
    for {
      backend <- Seq("rocksdb", "hashmap")
      query <- queries
      if Cases.all ||
        (if (backend == "hashmap") Cases.whole && onTheHeap(query.name) else Cases.whole || always(query.name))
    } yield backend -> query

  /** Spark's reader leaves the store open that both sides of a join share in state format 3: outputs have to do there.
    */
  private def sidesOf(query: StatefulQuery, operator: String): Seq[String] =
    if (operator != "symmetricHashJoin") Seq("none")
    else if (query.settings.values.toSeq.contains("3")) Nil
    else Seq("left", "right")

  for ((backend, query) <- cases) test(s"$query, $backend") {
    val seeds = if (Cases.all) 1 to 10 else Seq(1)
    LocalSpark(settings :+ ("spark.snapline.state.backend.type" -> backend): _*) { spark =>
      spark.conf.set("spark.sql.session.timeZone", "UTC")
      // State format 1 of flatMapGroupsWithState says that its times are ints, and Spark's own check finds longs.
      spark.conf.set("spark.sql.streaming.stateStore.formatValidation.enabled", "false")
      seeds.foreach { seed =>
        val input = batches(seed, if (Cases.whole) 12 else 8)
        def runs(index: Boolean, many: Int = Evictor.many): Run = {
          val before = Evictor.many
          spark.conf.set(ProviderSettings.TimeIndex, index.toString)
          Evictor.many = many
          try run(spark, query, input, restartEvery = 5)
          finally Evictor.many = before
        }
        val scanned = runs(index = false)
        val found = runs(index = true)
        assert(found.outputs == scanned.outputs)
        assert(found.state == scanned.state)
        assert(found.rows == scanned.rows)
        assert(found.removed == scanned.removed)
        assert(found.removed > 10, "nothing to compare")
        assert(scanned.read == 0)
        // Of a join by the window Spark does not show the store that counts the rows of a key.
        assert(found.read >= found.removed || query.name == "join by the window")
        // One walk after the restart, and no others. A group whose timeout moves is read again, and not removed.
        val looks = if (query.name.contains("timeouts")) 10 else 3
        assert(found.read < found.removed * looks + scanned.rows.max * 2, s"${found.read} rows for ${found.removed}")
        // Where time jumps, a quarter of the rows is due, and all are walked over.
        val walked = runs(index = true, many = 5)
        assert(walked.copy(read = 0) == scanned)
      }
    }
  }

  test("with a null watermark column nothing breaks, and a row without a time stays") {
    LocalSpark(settings: _*) { spark =>
      import spark.implicits._
      val stream = MemoryStream[Event](spark)
      val query = stream.toDS().withWatermark("time", "1 second").dropDuplicates("key", "time")
        .writeStream.format("noop").option("checkpointLocation", Files.createTempDirectory("null").toString).start()
      try {
        stream.addData(Event("no time", 0, null), Event("early", 0, new Timestamp(1000000)))
        query.processAllAvailable()
        stream.addData(Event("late", 0, new Timestamp(9000000)))
        query.processAllAvailable()
        val rows = query.lastProgress.stateOperators.head.numRowsTotal
        assert(rows == 2)
      } finally query.stop()
    }
  }
}

/** @param removed
  *   rows that the operators removed
  * @param read
  *   rows that were read to find them
  */
private final case class Run(
    outputs: Seq[Seq[String]],
    state: Seq[String],
    removed: Long,
    read: Long,
    rows: Seq[Long]
)

/** Counts rows; a group's timeout moves forwards and back. */
object MovingTimeout {
  def count(key: Int, rows: Iterator[Event], state: GroupState[Long]): Iterator[(Int, Long, Boolean)] = {
    val timedOut = state.hasTimedOut
    val seen = rows.filter(_.time != null).toSeq
    val total = state.getOption.getOrElse(0L) + seen.length
    if (timedOut && total % 3 == 0) state.remove()
    else {
      state.update(total)
      val watermark = state.getCurrentWatermarkMs()
      if (total % 5 != 4) state.setTimeoutTimestamp(math.max(0, watermark) + 1 + (total * 7919 % 90000))
    }
    Iterator((key, total, timedOut))
  }
}
