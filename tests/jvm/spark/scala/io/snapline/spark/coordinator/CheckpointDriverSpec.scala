package io.snapline.spark.coordinator

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files
import java.util.UUID
import java.util.concurrent.{CountDownLatch, TimeUnit}

import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration.{Duration, DurationInt}
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.SparkEnv
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.execution.ExplainMode
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.{StreamingQuery, StreamingQueryException, Trigger}
import org.scalatest.BeforeAndAfterAll
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.snapline.checkpoint.{CheckpointMetadata, CoordinatorSettings, RetentionPolicy}
import io.snapline.error.{InvalidConfiguration, QueryTakenOver, SnaplineException, StoreClosed}
import io.snapline.spark.{LocalSpark, StatefulQuery}
import io.snapline.spark.plugin.SnaplinePlugin
import io.snapline.spark.protocol.{Alignment, ChannelLimits, CheckpointFolder, HoldersReport}
import io.snapline.spark.provider.ProviderSettings
import io.snapline.storage.{Fault, FaultPlan, FaultyFileSystem}

/** Checkpoints of real queries: what is in the folder, what is not, and what a run that goes on from one loads. */
class CheckpointDriverSpec extends AnyFunSuite with BeforeAndAfterAll with Eventually {
  private var spark: SparkSession = _
  private val plugin = "spark.plugins" -> classOf[SnaplinePlugin].getName

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(60, Seconds), Span(50, Millis))

  /** Else the table files of states as small as these are in their handles. */
  private val apart = ProviderSettings.InlineThreshold -> "0"

  private val LoadedFromStorage = "rocksdbNumLoadedFromDfs"

  /** Spark's maintenance closes the stores of a query that has ended, also while a checkpoint of them is asked for. */
  private val kept = "spark.sql.streaming.stateStore.maintenanceInterval" -> "1h"

  override def beforeAll(): Unit =
    spark = LocalSpark.start(LocalSpark.provider, LocalSpark.extension, plugin, apart, kept)

  override def afterAll(): Unit = LocalSpark.stop(spark)

  private def folder(): String = Files.createTempDirectory("snapline-driver").toString

  private def started(folder: String, intervalMs: Long, retained: Int = 2, tolerable: Int = 0): CheckpointDriver =
    Checkpointing.start(
      spark,
      folder,
      CheckpointSpec(CoordinatorSettings(
        Option(intervalMs).filter(_ >= 0),
        60000,
        tolerableFailures = tolerable,
        retained = retained
      ))
    )

  private def completed(folder: String): Seq[CheckpointMetadata] =
    new CheckpointFolder(new Path(folder), new Configuration).completed().map(_._1)

  private def counts(driver: CheckpointDriver): JsonNode = new ObjectMapper().readTree(driver.history).get("counts")

  private def stateFiles(folder: String, ending: String): Seq[String] = {
    val walk = Files.walk(new java.io.File(folder, "state").toPath)
    try walk.iterator.asScala.map(_.toString).filter(_.endsWith(ending)).toSeq
    finally walk.close()
  }

  /** A count per key that is fed by hand. */
  private final class Counted(checkpoint: String) {
    private val session = spark
    import session.implicits._
    private val input = MemoryStream[Int](spark)
    val frame: DataFrame = input.toDF().groupBy(col("value") % 7 as "key").agg(count("*") as "n")

    def start(): StreamingQuery = frame.writeStream.format("noop").outputMode("update")
      .option("checkpointLocation", checkpoint).trigger(Trigger.ProcessingTime(0)).start()

    def batch(query: StreamingQuery, values: Int*): Unit = {
      input.addData(values)
      query.processAllAvailable()
    }
  }

  for (query <- StatefulQuery.all :+ StatefulQuery.inOneStage) {
    test(s"a checkpoint has every store: $query") {
      val checkpoint = folder()
      val driver = started(checkpoint, intervalMs = 60000)
      try {
        query.run(spark, checkpoint, StatefulQuery.batches(1))
        eventually(assert(completed(checkpoint).nonEmpty))
      } finally driver.end("SUSPENDED")
      val metadata = completed(checkpoint).head
      assert(metadata.batch == 0 && metadata.offsets.contains("batchWatermarkMs"))
      val folders = stateFiles(checkpoint, ".handle").map(new java.io.File(_).getParent).distinct
      assert(metadata.handles.size == folders.size)
      assert(stateFiles(checkpoint, ".changelog").isEmpty, "batches are not durable by themselves")
    }
  }

  test("only the first barrier of an interval is one, and what lies between is on the executor alone") {
    val checkpoint = folder()
    val driver = started(checkpoint, intervalMs = 600000)
    val counted = new Counted(checkpoint)
    val query = counted.start()
    try {
      (0 until 5).foreach(i => counted.batch(query, i, i + 1))
      eventually(assert(completed(checkpoint).map(_.batch) == Seq(0)))
      assert(stateFiles(checkpoint, ".changelog").isEmpty)
      val request = driver.trigger(savepoint = false)
      counted.batch(query, 1)
      eventually(assert(driver.outcome(request) == "completed 2"))
      assert(completed(checkpoint).map(_.batch) == Seq(0, 5))
    } finally {
      query.stop()
      driver.end("SUSPENDED")
    }
    assert(completed(checkpoint).size == 2, "a stop keeps them")
  }

  test("a query whose input pauses comes to a checkpoint of its last batch") {
    val checkpoint = folder()
    val driver = started(checkpoint, intervalMs = 1500)
    val counted = new Counted(checkpoint)
    val query = counted.start()
    try {
      (0 until 3).foreach(i => counted.batch(query, i, i + 1))
      eventually(assert(completed(checkpoint).map(_.batch).lastOption.contains(2L)))
      // A run that goes on from it has nothing to load but what it names.
      counted.batch(query, 11, 12)
      eventually(assert(completed(checkpoint).map(_.batch).lastOption.contains(3L)))
    } finally {
      query.stop()
      driver.end("SUSPENDED")
    }
    assert(counts(driver).get("failed").asInt == 0)
    val again = started(checkpoint, intervalMs = 600000)
    again.restoreFrom(completed(checkpoint).last.checkpoint)
    val next = counted.start()
    try {
      counted.batch(next, 0)
      assert(next.lastProgress.stateOperators.head.numRowsTotal == 6)
    } finally {
      next.stop()
      again.end("SUSPENDED")
    }
  }

  test("the checkpoint that a recovery begins with stays until the next run has a newer one") {
    val checkpoint = folder()
    val driver = started(checkpoint, intervalMs = 600000, retained = 1)
    val counted = new Counted(checkpoint)
    val first = counted.start()
    try {
      counted.batch(first, 1)
      eventually(assert(completed(checkpoint).map(_.checkpoint) == Seq(1)))
      first.stop()
      driver.recovering()
      driver.restoreFrom(1)
      driver.goOn(-1)
      val second = counted.start()
      try {
        // The barrier is that of the run before, and this one has planned no batch.
        val request = driver.trigger(savepoint = false)
        eventually(assert(driver.outcome(request).startsWith("failed")))
        assert(completed(checkpoint).map(_.checkpoint) == Seq(1))
        counted.batch(second, 1)
        eventually(assert(completed(checkpoint).map(_.batch) == Seq(1)))
        assert(second.lastProgress.stateOperators.head.numRowsTotal == 1)
      } finally second.stop()
    } finally {
      first.stop()
      driver.end("SUSPENDED")
    }
  }

  test("a lent checkpoint that a recovery begins with stays, though it is given back, until there is a newer one") {
    val checkpoint = folder()
    val driver = started(checkpoint, intervalMs = 600000, retained = 1)
    val counted = new Counted(checkpoint)
    def numbers = completed(checkpoint).map(_.checkpoint)
    val first = counted.start()
    try {
      counted.batch(first, 1)
      eventually(assert(numbers == Seq(1)))
      val lent = driver.lend(inFlight = false)
      counted.batch(first, 2)
      eventually(assert(driver.outcome(lent) == "completed 2"))
      first.stop()
      driver.recovering()
      assert(!driver.isCompleting)
      driver.giveBack(lent)
      assert(!driver.dispose(2) && !driver.dispose(1))
      driver.restoreFrom(2)
      driver.goOn(-1)
      val second = counted.start()
      try {
        counted.batch(second, 1)
        assert(second.lastProgress.stateOperators.head.numRowsTotal == 2)
        eventually(assert(numbers == Seq(3)))
        val request = driver.trigger(savepoint = true)
        counted.batch(second, 3)
        eventually(assert(driver.outcome(request) == "completed 4"))
        assert(driver.dispose(4))
      } finally second.stop()
    } finally {
      first.stop()
      driver.end("SUSPENDED")
    }
    assert(numbers == Seq(3) && !driver.dispose(3))
  }

  test("a driver that has ended claims no folder") {
    val checkpoint = folder()
    val driver = started(checkpoint, intervalMs = 600000)
    driver.claimFolder()
    driver.end("SUSPENDED")
    intercept[StoreClosed](driver.claimFolder())
    assert(new CheckpointFolder(new Path(checkpoint), new Configuration).claims.list("").isEmpty)
  }

  test("a driver whose folder another one has claimed ends its query, and deletes nothing from then on") {
    val checkpoint = folder()
    val driver = Checkpointing.start(
      spark,
      checkpoint,
      CheckpointSpec(CoordinatorSettings(Some(100), 60000, retention = RetentionPolicy.named("RETAIN_ON_FAILURE")))
    )
    driver.claimFolder()
    val counted = new Counted(checkpoint)
    val query = counted.start()
    counted.batch(query, 1, 2)
    eventually(assert(completed(checkpoint).nonEmpty))
    val files = new CheckpointFolder(new Path(checkpoint), new Configuration)
    val other = new DriverClaim(files.claims, ClaimHolder("app-2", "elsewhere", 7, 0), sleep = _ => ())
    other.take()
    assert(driver.takenOver.isEmpty, "it has not looked")
    val e = intercept[StreamingQueryException](counted.batch(query, 3))
    assert(Iterator.iterate[Throwable](e)(_.getCause).takeWhile(_ != null).exists(_.isInstanceOf[QueryTakenOver]))
    assert(driver.takenOver.contains("app-2 on elsewhere"))
    val there = completed(checkpoint)
    val request = driver.trigger(savepoint = false)
    assert(!driver.dispose(there.last.checkpoint))
    driver.end("CANCELED")
    assert(!driver.outcome(request).startsWith("completed"))
    assert(completed(checkpoint) == there, "what becomes of them is not its to say any more")
    there.foreach(each => files.verify(each.handles))
    other.check()
    assert(files.claims.list("").size == 1)
  }

  test("while no batch runs people get a checkpoint at once, and a stop right after leaves it") {
    val checkpoint = folder()
    val driver = started(checkpoint, intervalMs = 600000)
    val counted = new Counted(checkpoint)
    val query = counted.start()
    try {
      (0 until 2).foreach(i => counted.batch(query, i))
      for ((savepoint, number) <- Seq(true -> 2, false -> 3)) {
        if (!savepoint) counted.batch(query, 5)
        val request = driver.trigger(savepoint)
        eventually(assert(driver.outcome(request) == s"completed $number"))
      }
      counted.batch(query, 6)
      driver.trigger(savepoint = false)
      eventually(assert(counts(driver).get("total").asInt == 4))
    } finally {
      query.stop()
      driver.end("SUSPENDED")
    }
    assert(completed(checkpoint).map(_.batch) == Seq(1, 2, 3))
  }

  for (intervalMs <- Seq(600000L, -1L))
    test(s"people get a checkpoint of a batch that has one, too, and each stands for itself: interval $intervalMs") {
      val checkpoint = folder()
      val driver = started(checkpoint, intervalMs)
      val counted = new Counted(checkpoint)
      val query = counted.start()
      try {
        counted.batch(query, 1, 2)
        eventually(assert(completed(checkpoint).map(_.batch) == Seq(0)))
        val files = stateFiles(checkpoint, "")
        for ((savepoint, number) <- Seq(true -> 2, false -> 3)) {
          val request = driver.trigger(savepoint)
          eventually(assert(driver.outcome(request) == s"completed $number"))
        }
        assert(stateFiles(checkpoint, "") == files, "no store has made anything")
        val there = completed(checkpoint)
        assert(there.map(_.handles.map { case (store, handle) => store -> handle.again }).distinct.size == 1)
        assert(driver.dispose(2))
        eventually(assert(!completed(checkpoint).exists(_.checkpoint == 2)))
      } finally {
        query.stop()
        driver.end("SUSPENDED")
      }
      // A run goes on from it.
      val again = started(checkpoint, intervalMs)
      again.restoreFrom(3)
      val other = counted.start()
      try counted.batch(other, 4)
      finally {
        other.stop()
        again.end("SUSPENDED")
      }
    }

  test("what a query has done when it ends by itself is in a checkpoint") {
    val checkpoint = folder()
    val driver = started(checkpoint, intervalMs = 600000)
    val counted = new Counted(checkpoint)
    val query = counted.start()
    try (0 until 3).foreach(i => counted.batch(query, i))
    finally query.stop()
    driver.checkpointLast()
    driver.end("SUSPENDED")
    assert(completed(checkpoint).map(_.batch) == Seq(0, 2))
  }

  test("a query that stops at once leaves the checkpoint of its barrier") {
    (0 until 5).foreach { _ =>
      val checkpoint = folder()
      val driver = started(checkpoint, intervalMs = 600000)
      val counted = new Counted(checkpoint)
      val query = counted.start()
      counted.batch(query, 1)
      query.stop()
      driver.end("SUSPENDED")
      assert(completed(checkpoint).map(_.batch) == Seq(0))
    }
  }

  test("between checkpoints a batch asks the file system for nothing of its state") {
    spark.sparkContext.hadoopConfiguration.set("fs.faulty.impl", classOf[FaultyFileSystem].getName)
    val checkpoint = "faulty:" + folder()
    val driver = started(checkpoint, intervalMs = 600000)
    val counted = new Counted(checkpoint)
    val query = counted.start()
    try {
      (0 until 3).foreach(counted.batch(query, _))
      eventually(assert(counts(driver).get("completed").asInt == 1))
      val plan = FaultPlan.none
      FaultyFileSystem.plan.set(plan)
      counted.batch(query, 4)
      counted.batch(query, 5)
      // Spark's two logs: an entry is a temporary file that is renamed.
      val logs = """(create|write|close|status|list|delete|open|read) (\.?\d+(\..+)?|offsets|commits|metadata)""".r
      assert(plan.operations.filterNot(logs.matches) == Nil)
      assert(plan.operations.nonEmpty)
    } finally {
      FaultyFileSystem.plan.set(FaultPlan.none)
      query.stop()
      driver.end("SUSPENDED")
    }
  }

  test("Spark's metrics have them under Flink's names") {
    def metric(name: String): Long = {
      val sources = SparkEnv.get.metricsSystem.getSourcesByName(s"plugin.${classOf[SnaplinePlugin].getName}")
      sources.head.metricRegistry.getGauges.get(name).getValue.asInstanceOf[Long]
    }
    assert(metric("lastCompletedCheckpointId") == -1 && metric("totalNumberOfCheckpoints") == 0)
    val checkpoint = folder()
    val driver = started(checkpoint, intervalMs = 10)
    val counted = new Counted(checkpoint)
    val query = counted.start()
    try {
      (0 until 2).foreach { i =>
        counted.batch(query, i)
        eventually(assert(metric("numberOfCompletedCheckpoints") == i + 1))
      }
      assert(metric("totalNumberOfCheckpoints") == 2 && metric("numberOfInProgressCheckpoints") == 0)
      assert(metric("lastCompletedCheckpointId") == 2 && metric("lastCheckpointDuration") > 0)
      assert(metric("lastCheckpointFullSize") > 0 && metric("lastCheckpointSize") > 0)
    } finally {
      query.stop()
      driver.end("SUSPENDED")
    }
  }

  test("older checkpoints go, with their files and the log entries below") {
    val checkpoint = folder()
    spark.conf.set("spark.sql.streaming.minBatchesToRetain", 1000000)
    val driver = started(checkpoint, intervalMs = 10)
    val counted = new Counted(checkpoint)
    val query = counted.start()
    try {
      (0 until 8).foreach { i =>
        counted.batch(query, i)
        eventually(assert(counts(driver).get("completed").asInt == i + 1))
      }
    } finally {
      query.stop()
      driver.end("SUSPENDED")
      spark.conf.unset("spark.sql.streaming.minBatchesToRetain")
    }
    assert(completed(checkpoint).map(_.checkpoint) == Seq(7, 8))
    assert(stateFiles(checkpoint, ".handle").size == 2 * LocalSpark.Partitions)
    val named = completed(checkpoint).flatMap(_.handles.values.flatMap(_.files.map(_.uid))).toSet
    assert(stateFiles(checkpoint, ".sst").map(new java.io.File(_).getName.stripSuffix(".sst")).toSet == named)
    val offsets = new java.io.File(checkpoint, "offsets").list().filterNot(_.startsWith(".")).map(_.toInt).sorted
    assert(offsets.toSeq == Seq(5, 6, 7))
  }

  /** Plans batches that are cut, and writes what tasks and Spark would: notes, and logs of the last hundred. */
  private def planCut(driver: CheckpointDriver, checkpoint: String, run: UUID, batches: Range): Unit = {
    def file(name: String) = new java.io.File(checkpoint, name).toPath
    def write(name: String, text: String): Unit = {
      Files.createDirectories(file(name).getParent)
      Files.write(file(name), text.getBytes(UTF_8)): Unit
    }
    write("metadata", """{"id":"cut"}""")
    batches.foreach { batch =>
      write(s"offsets/$batch", "v1\n{}")
      driver.planned(PlannedBatch(s"$checkpoint/state", run, batch.toLong, Nil)): Unit
      write(s"snapline/cuts/$batch/0-0", "")
      write(s"commits/$batch", "v1\n{}")
      Seq("offsets", "commits").foreach(log => Files.deleteIfExists(file(s"$log/${batch - 100}")): Unit)
    }
  }

  test("without an interval notes of cuts go when Spark's logs have passed them, but for those of a checkpoint") {
    val checkpoint = folder()
    def numbers(of: String): Set[Int] = new java.io.File(checkpoint, of).list().map(_.toInt).toSet
    def cuts: Set[Int] = numbers("snapline/cuts")
    val limits = ChannelLimits(1000, 1000, 1000, fails = false)
    val spec = CheckpointSpec(CoordinatorSettings(), Alignment.Unaligned(1000, limits))
    val driver = Checkpointing.start(spark, checkpoint, spec)
    val run = UUID.randomUUID()
    def plan(batches: Range): Unit = planCut(driver, checkpoint, run, batches)
    try {
      plan(0 to 1)
      eventually(assert(completed(checkpoint).map(_.batch) == Seq(0)))
      plan(2 to 250)
      eventually(assert(cuts.filter(_ < 100) == Set(0)))
      // A replay reaches back as far as the logs do, whatever checkpoint it begins with.
      assert(numbers("offsets").subsetOf(cuts))
      val request = driver.trigger(savepoint = false)
      plan(251 to 252)
      eventually(assert(driver.outcome(request) == "completed 2"))
    } finally driver.end("SUSPENDED")
    assert(completed(checkpoint).map(_.batch) == Seq(251))
    assert(numbers("offsets").subsetOf(cuts) && !cuts(0))
  }

  test("a cancelled query takes along the checkpoints that do not outlive it, a stopped one does not") {
    val checkpoint = folder()
    val counted = new Counted(checkpoint)
    def run(ending: String, intervalMs: Long): Unit = {
      val driver =
        Checkpointing.start(
          spark,
          checkpoint,
          CheckpointSpec(CoordinatorSettings(
            Option(intervalMs).filter(_ >= 0),
            60000,
            retained = 2,
            retention = RetentionPolicy.named("NEVER_RETAIN_AFTER_TERMINATION")
          ))
        )
      val query = counted.start()
      try {
        counted.batch(query, 1)
        eventually(assert(counts(driver).get("completed").asInt > 0))
      } finally {
        query.stop()
        driver.end(ending)
      }
    }
    run("SUSPENDED", intervalMs = 10)
    assert(completed(checkpoint).size == 1)
    run("CANCELED", intervalMs = 10)
    assert(completed(checkpoint).isEmpty && stateFiles(checkpoint, ".handle").isEmpty)
  }

  test("a run that goes on from a checkpoint loads the attempt it names, not a later one of the same version") {
    val (checkpoint, other) = (folder(), folder())
    val counted = new Counted(checkpoint)
    runOnce(checkpoint, counted, 0 until 70)
    runOnce(other, new Counted(other), Seq(0))
    // Another attempt at the same version, with another content; it was made later and sorts after the one that is
    // named.
    stateFiles(other, ".handle").concat(stateFiles(other, ".sst")).foreach { file =>
      val target = new java.io.File(file.replace(other, checkpoint)).toPath
      Files.createDirectories(target.getParent)
      Files.copy(new java.io.File(file).toPath, target)
    }
    val driver = started(checkpoint, intervalMs = 600000)
    driver.restoreFrom(1)
    val query = counted.start()
    try {
      counted.batch(query, 0)
      assert(query.lastProgress.stateOperators.head.numRowsTotal == 7)
    } finally {
      query.stop()
      driver.end("SUSPENDED")
    }
  }

  test("a run takes over the states of the replay before it instead of loading them") {
    val checkpoint = folder()
    val counted = new Counted(checkpoint)
    runOnce(checkpoint, counted, 0 until 70)
    val driver = started(checkpoint, intervalMs = 600000)
    driver.restoreFrom(1)
    driver.replay(committed = true)
    def run(value: Int, until: => Boolean = true): Long = {
      val query = counted.start()
      try {
        counted.batch(query, value)
        eventually(assert(until))
        val metrics = query.lastProgress.stateOperators.head.customMetrics
        assume(metrics.containsKey(LoadedFromStorage), "Spark shows it from 4.2 on")
        metrics.get(LoadedFromStorage)
      } finally query.stop()
    }
    def read(): Map[Int, Long] =
      spark.read.format("statestore").load(checkpoint).select("key.*", "value.*").collect()
        .map(row => row.getInt(0) -> row.getLong(1)).toMap
    val stores = completed(checkpoint).head.handles.size
    try {
      assert(run(0) == stores)
      assert(run(0) == 0)
      // Whoever reads has a store of its own.
      assert(read() == (0 until 7).map(key => key -> (if (key == 0) 12L else 10L)).toMap)
      assert(run(1) == 0)
      assert(stateFiles(checkpoint, ".changelog").size == 3 * stores, "each replayed batch is durable")
      driver.goOn(-1)
      def isDurable = completed(checkpoint).exists(_.batch == 4)
      assert(run(2, until = isDurable) == 0)
      driver.restoreFrom(2)
      assert(run(3) == stores, "a run that was no replay leaves nothing open")
    } finally driver.end("SUSPENDED")
  }

  /** One batch and its checkpoint. */
  private def runOnce(checkpoint: String, counted: Counted, values: Seq[Int]): Unit = {
    val driver = started(checkpoint, intervalMs = 600000)
    val query = counted.start()
    try {
      counted.batch(query, values: _*)
      eventually(assert(completed(checkpoint).size == 1))
    } finally {
      query.stop()
      driver.end("SUSPENDED")
    }
  }

  test("a second query under a coordinator on one folder is refused") {
    val checkpoint = folder()
    val driver = started(checkpoint, 1000)
    try assertThrows[InvalidConfiguration](started(checkpoint, 1000))
    finally driver.end("SUSPENDED")
    started(checkpoint, 1000).end("SUSPENDED")
  }

  test("a plain start of a query whose state lags behind its logs is refused, and one of any other is not") {
    val checkpoint = folder()
    Files.createDirectories(new java.io.File(checkpoint, "snapline").toPath)
    val counted = new Counted(checkpoint)
    // Before the first batch ever, and before a later one.
    (0 to 1).foreach { _ =>
      for (name <- Seq("interval", "unaligned")) {
        val mark = new java.io.File(checkpoint, s"snapline/$name").toPath
        Files.write(mark, Array.emptyByteArray)
        val before = allFiles(checkpoint)
        val failure = intercept[InvalidConfiguration](counted.start())
        assert(failure.code == "SNAPLINE-CONFIG" && failure.action.contains("snapline.start"))
        assert(allFiles(checkpoint) == before, "nothing was written")
        Files.delete(mark)
      }
      val query = counted.start()
      try counted.batch(query, 1)
      finally query.stop()
    }
  }

  test("a plain start of a query without state is not refused for a mark") {
    val checkpoint = folder()
    def run(): Unit = {
      val query = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load().writeStream
        .format("noop").option("checkpointLocation", checkpoint).trigger(Trigger.ProcessingTime(0)).start()
      try eventually(assert(query.lastProgress != null))
      finally query.stop()
    }
    run()
    Files.createDirectories(new java.io.File(checkpoint, "snapline").toPath)
    Files.write(new java.io.File(checkpoint, "snapline/interval").toPath, Array.emptyByteArray)
    run()
  }

  private def allFiles(folder: String): Set[String] = {
    val walk = Files.walk(new java.io.File(folder).toPath)
    try walk.iterator.asScala.map(_.toString).toSet
    finally walk.close()
  }

  test("while a query reads its checkpoint folder, messages of others are answered") {
    spark.sparkContext.hadoopConfiguration.set("fs.faulty.impl", classOf[FaultyFileSystem].getName)
    val checkpoint = "faulty:" + folder()
    val (reads, mayGoOn) = (new CountDownLatch(1), new CountDownLatch(1))
    val plan = new FaultPlan(-1, Fault.Before) {
      override def next(operation: String): Option[Fault] = {
        if (operation == "list snapline" && Thread.currentThread.getName.startsWith("stream execution")) {
          reads.countDown()
          mayGoOn.await()
        }
        super.next(operation)
      }
    }
    val driver = started(checkpoint, intervalMs = 600000)
    val counted = new Counted(checkpoint)
    FaultyFileSystem.plan.set(plan)
    val query = counted.start()
    try {
      val batch = Future(counted.batch(query, 1))(ExecutionContext.global)
      assert(reads.await(60, TimeUnit.SECONDS))
      val run = java.util.UUID.randomUUID.toString
      val answer = Future(Checkpointing.held(HoldersReport("1", Seq(run), Nil)))(ExecutionContext.global)
      assert(Await.result(answer, Duration(60, TimeUnit.SECONDS)).nonEmpty && !batch.isCompleted)
      mayGoOn.countDown()
      Await.result(batch, Duration(60, TimeUnit.SECONDS))
      eventually(assert(counts(driver).get("completed").asInt == 1))
    } finally {
      mayGoOn.countDown()
      FaultyFileSystem.plan.set(FaultPlan.none)
      query.stop()
      driver.end("SUSPENDED")
    }
    // An owner that is in doubt ends it again.
    driver.end("SUSPENDED")
    driver.close()
  }

  test("a plan that is only explained is no batch") {
    val plan = new Counted(folder()).frame.queryExecution.explainString(ExplainMode.fromString("simple"))
    assert(plan.contains("StateStoreSave"), plan)
  }

  test("the query fails when checkpoints fail more often than it tolerates, and says why") {
    val checkpoint = folder()
    val driver = started(checkpoint, intervalMs = 10)
    val counted = new Counted(checkpoint)
    // No folder can be made where a file is.
    Files.write(new java.io.File(checkpoint, "snapline").toPath, Array[Byte](1))
    val query = counted.start()
    try {
      val failure = intercept[StreamingQueryException] {
        counted.batch(query, 1)
        eventually(assert(counts(driver).get("failed").asInt == 1))
        // The failure comes from another thread; a batch after it throws.
        val deadline = 60.seconds.fromNow
        Iterator.from(2).takeWhile(_ => deadline.hasTimeLeft()).foreach(counted.batch(query, _))
      }
      val causes = Iterator.iterate[Throwable](failure)(_.getCause).takeWhile(_ != null).toSeq
      assert(causes.exists { case e: SnaplineException => e.code == "SNAPLINE-STORAGE"; case _ => false })
    } finally {
      query.stop()
      driver.end("FAILED")
    }
  }
}
