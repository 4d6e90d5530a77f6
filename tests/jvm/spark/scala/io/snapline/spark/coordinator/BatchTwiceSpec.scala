package io.snapline.spark.coordinator

import java.nio.file.Files

import scala.collection.mutable
import scala.util.Using

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.TaskContext
import org.apache.spark.sql.{Dataset, Row, SparkSession}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.StreamingQuery
import org.scalatest.BeforeAndAfterAll
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.snapline.{Cases, WholeOnly}
import io.snapline.checkpoint.{CheckpointMetadata, CoordinatorSettings, StoreId}
import io.snapline.spark.LocalSpark
import io.snapline.spark.plugin.SnaplinePlugin
import io.snapline.spark.protocol.CheckpointFolder
import io.snapline.spark.provider.{BackendSettings, ProviderSettings}

/** Batches under an interval that are run more than once, those of barriers too: by a sink that uses its rows twice,
  * and by tasks that fail once their state is committed.
  */
class BatchTwiceSpec extends AnyFunSuite with WholeOnly with BeforeAndAfterAll with Eventually {
  private var spark: SparkSession = _

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(60, Seconds), Span(20, Millis))

  override def beforeAll(): Unit = spark = LocalSpark.start(
    LocalSpark.provider,
    LocalSpark.extension,
    "spark.plugins" -> classOf[SnaplinePlugin].getName,
    "spark.master" -> "local[2,4]",
    "spark.sql.streaming.stateStore.maintenanceInterval" -> "1h"
  )

  override def afterAll(): Unit = LocalSpark.stop(spark)

  private def folderOf(checkpoint: String) = new CheckpointFolder(new Path(checkpoint), new Configuration)

  private def completed(checkpoint: String): Seq[CheckpointMetadata] = folderOf(checkpoint).completed().map(_._1)

  /** A count per key. Rows come out once their state is committed; then the first attempt of a task may fail.
    *
    * @param between
    *   what happens between the two uses of a batch's rows
    */
  private final class Counted(checkpoint: String, fails: Boolean, between: Long => Unit) {
    private val session = spark
    import session.implicits._
    private val input = MemoryStream[Long](spark)
    private val failing = udf(if (fails) BatchTwiceSpec.fail _ else identity[Long] _).asNondeterministic()
    private val frame =
      input.toDS().toDF("key").groupBy("key").count().select(failing(col("key")) as "key", col("count"))
    val shown = mutable.Map.empty[Long, Map[Long, Long]]

    /** In batch n come the keys n to n + 29. */
    def feed(number: Long): Unit = input.addData((0L until 30L).map(_ + number)): Unit

    def start(): StreamingQuery = frame.writeStream.outputMode("update").option("checkpointLocation", checkpoint)
      .foreachBatch { (rows: Dataset[Row], number: Long) =>
        val size = rows.count()
        between(number)
        val found = rows.as[(Long, Long)].collect().toMap
        assert(size == found.size)
        shown(number) = found
      }.start()
  }

  private def started(checkpoint: String): CheckpointDriver =
    Checkpointing.start(spark, checkpoint, CheckpointSpec(CoordinatorSettings(Some(600000), 60000, retained = 2)))

  private def counts(driver: CheckpointDriver, what: String): Int =
    new ObjectMapper().readTree(driver.history).get("counts").get(what).asInt

  private def set(settings: (String, String)*)(body: => Unit): Unit = {
    settings.foreach { case (name, value) => spark.conf.set(name, value) }
    try body
    finally settings.foreach { case (name, _) => spark.conf.unset(name) }
  }

  private val settings = for {
    format <- Seq(1, 2)
    backend <- Seq("rocksdb", "hashmap")
    merging <- Seq(false, true)
  } yield (format, backend, merging)

  for {
    // Each value of each setting meets each of every other.
    (format, backend, merging) <- Cases.some(settings) { case (f, b, m) => (f == 2) == ((b == "hashmap") == m) }
    (how, fails) <- Seq("the sink uses its rows twice" -> false, "and each task fails once behind its commit" -> true)
  }
    test(s"$how: format $format, $backend, merged files $merging") {
      set(
        "spark.sql.streaming.stateStore.checkpointFormatVersion" -> format.toString,
        BackendSettings.Type -> backend,
        ProviderSettings.FileMerging -> merging.toString
      ) {
        val checkpoint = Files.createTempDirectory("snapline-twice").toString
        val driver = started(checkpoint)
        val asked = mutable.ArrayBuffer.empty[Long]
        lazy val counted: Counted = new Counted(checkpoint, fails, between)
        lazy val query: StreamingQuery = counted.start()

        /** The barriers are at the ends of the batches 0, 3, 6 and 9. */
        def between(batch: Long): Unit = {
          // Of some barriers the second use comes when the snapshots of the first are durable, of others at once.
          if (batch % 6 == 3) eventually {
            val handles = folderOf(checkpoint).handlesOf(batch + 1, query.runId.toString)
            (0 until LocalSpark.Partitions).foreach(n => assert(handles(StoreId(0, n, "default")).nonEmpty))
          }
          if (batch % 3 == 2 && batch < 9) {
            eventually(assert(counts(driver, "completed") == 1 + asked.size))
            asked += driver.trigger(savepoint = false)
          }
          if (batch < 10) counted.feed(batch + 1)
        }

        counted.feed(0)
        Using.resource(new Running(driver, query)) { _ =>
          query.processAllAvailable()
          asked.foreach(request => eventually(assert(driver.outcome(request).startsWith("completed"))))
          assert(counts(driver, "failed") == 0)
          assert(counted.shown.toMap == (0L to 10L).map(number => number -> expected(number)).toMap)
        }
        assert(completed(checkpoint).map(_.batch) == Seq(6, 9))
        // A start goes on from it, whichever attempts it has: what a recovery does, short of the replay.
        Seq("offsets", "commits").foreach { log =>
          Seq("10", ".10.crc").foreach(name => Files.deleteIfExists(java.nio.file.Paths.get(checkpoint, log, name)))
        }
        val again = started(checkpoint)
        again.restoreFrom(completed(checkpoint).last.checkpoint)
        again.goOn(-1)
        counted.shown.clear()
        val next = counted.start()
        Using.resource(new Running(again, next)) { _ =>
          next.processAllAvailable()
          assert(counted.shown.toMap == Map(10L -> expected(10)))
        }
      }
    }

  private final class Running(driver: CheckpointDriver, query: StreamingQuery) extends AutoCloseable {
    override def close(): Unit =
      try query.stop()
      finally driver.end("SUSPENDED")
  }

  private def expected(batch: Long): Map[Long, Long] = (batch until batch + 30).map(key =>
    key -> (0L to batch).count(b => b <= key && key < b + 30).toLong
  ).toMap
}

object BatchTwiceSpec {
  private def fail(key: Long): Long = {
    if (TaskContext.get().attemptNumber() == 0 && key % 4 == 0) throw new IllegalStateException("injected")
    key
  }
}
