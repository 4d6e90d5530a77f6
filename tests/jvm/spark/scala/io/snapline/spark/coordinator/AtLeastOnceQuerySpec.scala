package io.snapline.spark.coordinator

import java.io.File
import java.nio.file.Files
import java.util.concurrent.{CountDownLatch, TimeUnit}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.execution.streaming.snapline.SessionInternals
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.scalatest.BeforeAndAfterAll
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.snapline.WholeOnly
import io.snapline.checkpoint.{CheckpointMetadata, CheckpointingMode, CoordinatorSettings, StoreId}
import io.snapline.spark.LocalSpark
import io.snapline.spark.plugin.SnaplinePlugin
import io.snapline.spark.protocol.CheckpointFolder
import io.snapline.spark.provider.{ProviderSettings, SharedResources}

/** Checkpoints of real queries AT_LEAST_ONCE: which stores are ahead, and what a recovery makes of it. */
class AtLeastOnceQuerySpec extends AnyFunSuite with WholeOnly with BeforeAndAfterAll with Eventually {
  private var spark: SparkSession = _
  private val Rows = 40

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(90, Seconds), Span(50, Millis))

  override def beforeAll(): Unit =
    spark =
      LocalSpark.start(LocalSpark.provider, LocalSpark.extension, "spark.plugins" -> classOf[SnaplinePlugin].getName)

  override def afterAll(): Unit = LocalSpark.stop(spark)

  private def started(folder: File): CheckpointDriver = Checkpointing.start(
    spark,
    folder.getPath,
    CheckpointSpec(CoordinatorSettings(
      Some(600000),
      60000,
      maxConcurrent = 2,
      retained = 2,
      mode = CheckpointingMode.AtLeastOnce
    ))
  )

  /** Batch n has the values from n * Rows on, and can be read again. */
  private def input: DataFrame = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", Rows)
    .option("startTimestamp", 0).option("advanceMillisPerBatch", 1000).load()

  private def counted: DataFrame = input.withColumn("key", col("value") % 13).groupBy("key").agg(count("*") as "n")

  private def start(frame: DataFrame, folder: File, trigger: Trigger, mode: String = "update"): StreamingQuery =
    frame.writeStream.format("noop").outputMode(mode).option("checkpointLocation", folder.getPath)
      .trigger(trigger).start()

  private def entries(folder: File, log: String): Seq[Long] =
    Option(new File(folder, log).list()).toSeq.flatten.flatMap(_.toLongOption).sorted

  /** Keeps all threads that make snapshots until the body has ended. */
  private def busy(body: => Unit): Unit = {
    val pool = SharedResources.get(ProviderSettings.read(
      SessionInternals.storeConf(spark),
      SessionInternals.hadoopConfiguration(spark)
    )).snapshots
    val over = new CountDownLatch(1)
    (0 until 64).foreach(_ => pool.submit(() => over.await(120, TimeUnit.SECONDS): Unit))
    try body
    finally over.countDown()
  }

  /** A checkpoint that no thread was free for until some batches later; the query is stopped then. */
  private def checkpointed(frame: DataFrame, folder: File, mode: String = "update"): CheckpointMetadata = {
    val driver = started(folder)
    try {
      val query = start(frame, folder, Trigger.ProcessingTime(0), mode)
      try {
        // The first barrier of a run has one anyway; refused before it.
        def asked(): Long = eventually {
          val request = driver.trigger(savepoint = false)
          assert(!driver.outcome(request).startsWith("failed"))
          request
        }
        val first = asked()
        eventually(assert(driver.outcome(first).startsWith("completed")))
        var request = 0L
        busy {
          request = asked()
          val from = entries(folder, "commits").last
          eventually(assert(entries(folder, "commits").last > from + 4))
        }
        eventually(assert(driver.outcome(request).startsWith("completed")))
        new CheckpointFolder(new Path(folder.getPath), new Configuration)
          .read(driver.outcome(request).stripPrefix("completed ").toLong)
      } finally query.stop()
    } finally driver.end("SUSPENDED")
  }

  private def versions(checkpoint: CheckpointMetadata): Map[StoreId, Long] =
    checkpoint.handles.map { case (store, handle) => store -> handle.ref.version }

  /** As snapline.start does it: the batches after the checkpoint once more, one by one, into no sink. */
  private def recover(frame: DataFrame, folder: File, checkpoint: CheckpointMetadata): Seq[Long] = {
    val later = entries(folder, "offsets").filter(_ > checkpoint.batch)
    val hidden = Files.createTempDirectory("snapline-hidden")
    def move(from: File, to: File): Unit = Files.move(from.toPath, to.toPath): Unit
    later.foreach { batch =>
      move(new File(folder, s"offsets/$batch"), hidden.resolve(batch.toString).toFile)
      Seq(s"commits/$batch", s"commits/.$batch.crc", s"offsets/.$batch.crc").foreach(new File(folder, _).delete())
    }
    val driver = started(folder)
    try {
      driver.restoreFrom(checkpoint.checkpoint)
      later.foreach { batch =>
        move(hidden.resolve(batch.toString).toFile, new File(folder, s"offsets/$batch"))
        driver.replay(committed = true)
        val query = start(frame, folder, once)
        try query.awaitTermination()
        finally query.stop()
      }
    } finally driver.end("SUSPENDED")
    later
  }

  @scala.annotation.nowarn("cat=deprecation")
  private def once: Trigger = Trigger.Once()

  for (format <- Seq("1", "2")) {
    test(s"rows of batches a store was ahead count twice, and no others: checkpoint format $format") {
      spark.conf.set("spark.sql.streaming.stateStore.checkpointFormatVersion", format)
      val folder = Files.createTempDirectory("snapline-at-least-once").toFile
      try {
        val checkpoint = checkpointed(counted, folder)
        val version = versions(checkpoint)
        assert(version.values.forall(_ > checkpoint.batch))
        assert(version.values.exists(_ > checkpoint.batch + 1), "some store was to be ahead")
        val committed = entries(folder, "commits").last
        assert(version.values.max - 1 <= committed)
        val replayed = recover(counted, folder, checkpoint)
        assert(replayed.contains(committed))
        val last = replayed.last
        val state = spark.read.format("statestore").load(folder.getPath)
          .select("partition_id", "key.key", "value.count").collect()
          .map(row => row.getLong(1) -> (row.getInt(0), row.getLong(2))).toMap
        assert(state.size == 13)
        var twice = 0L
        state.foreach { case (key, (partition, n)) =>
          def rows(batch: Long): Long = (batch * Rows until (batch + 1) * Rows).count(_ % 13 == key).toLong
          val ahead = (checkpoint.batch + 1 until version(StoreId(0, partition, "default"))).map(rows).sum
          twice += ahead
          assert(n == (0L to last).map(rows).sum + ahead, s"key $key of partition $partition")
        }
        assert(twice > 0)
      } finally spark.conf.unset("spark.sql.streaming.stateStore.checkpointFormatVersion")
    }
  }

  test("an operator whose rows another one makes state of keeps to the barrier") {
    val folder = Files.createTempDirectory("snapline-at-least-once").toFile
    val chain = input.withWatermark("timestamp", "1 second").dropDuplicates("value", "timestamp")
      .groupBy(window(col("timestamp"), "2 seconds")).count()
    val checkpoint = checkpointed(chain, folder, mode = "append")
    val (last, before) = versions(checkpoint).partition(_._1.operator == 0)
    assert(last.values.exists(_ > checkpoint.batch + 1))
    assert(before.nonEmpty && before.values.forall(_ == checkpoint.batch + 1))
  }

  for (format <- Seq("2", "3")) {
    test(s"a join keeps to the barrier: state format $format") {
      spark.conf.set("spark.sql.streaming.join.stateFormatVersion", format)
      val folder = Files.createTempDirectory("snapline-at-least-once").toFile
      def side(name: String): DataFrame = input.withWatermark("timestamp", "1 second")
        .select(col("value") as s"${name}Value", col("timestamp") as s"${name}Time")
      val near = expr("leftValue = rightValue AND rightTime BETWEEN leftTime AND leftTime + INTERVAL 2 SECONDS")
      try {
        val checkpoint = checkpointed(side("left").join(side("right"), near), folder, mode = "append")
        assert(versions(checkpoint).values.toSet == Set(checkpoint.batch + 1))
      } finally spark.conf.unset("spark.sql.streaming.join.stateFormatVersion")
    }
  }

  test("a savepoint is of one batch") {
    val folder = Files.createTempDirectory("snapline-at-least-once").toFile
    val driver = started(folder)
    try {
      val query = start(counted, folder, Trigger.ProcessingTime(0))
      try {
        val request = eventually {
          val asked = driver.trigger(savepoint = true)
          assert(!driver.outcome(asked).startsWith("failed"))
          asked
        }
        busy(eventually(assert(entries(folder, "commits").lastOption.exists(_ > 8))))
        eventually(assert(driver.outcome(request).startsWith("completed")))
        val savepoint = new CheckpointFolder(new Path(folder.getPath), new Configuration).completed().map(_._1)
          .find(_.properties.isSavepoint).get
        assert(versions(savepoint).values.toSet == Set(savepoint.batch + 1))
      } finally query.stop()
    } finally driver.end("SUSPENDED")
  }
}
