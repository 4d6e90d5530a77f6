package io.snapline.spark.coordinator

import java.io.File
import java.nio.file.{Files, Path => LocalPath}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.scalatest.BeforeAndAfterAll
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.snapline.WholeOnly
import io.snapline.checkpoint.{CheckpointMetadata, CoordinatorSettings, MergedHandles, NamedFile, StoreId}
import io.snapline.error.CheckpointDamaged
import io.snapline.spark.LocalSpark
import io.snapline.spark.plugin.SnaplinePlugin
import io.snapline.spark.protocol.CheckpointFolder
import io.snapline.spark.provider.ProviderSettings

/** Checkpoints whose handles lie in merged files: of real queries, on and off and on again. */
class FileMergingSpec extends AnyFunSuite with WholeOnly with BeforeAndAfterAll with Eventually {
  private val Partitions = 8
  private var spark: SparkSession = _

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(60, Seconds), Span(50, Millis))

  override def beforeAll(): Unit = spark = LocalSpark.start(
    LocalSpark.provider,
    LocalSpark.extension,
    "spark.plugins" -> classOf[SnaplinePlugin].getName,
    "spark.sql.shuffle.partitions" -> Partitions.toString,
    "spark.sql.streaming.stateStore.maintenanceInterval" -> "1h",
    ProviderSettings.FileMerging -> "true",
    ProviderSettings.InlineThreshold -> "0"
  )

  override def afterAll(): Unit = LocalSpark.stop(spark)

  /** A count per key in a folder of its own, fed by hand; what it has to hold is known. */
  private final class Counted {
    val root: LocalPath = Files.createTempDirectory("snapline-merging")
    private val session = spark
    import session.implicits._
    private val input = MemoryStream[Int](spark)
    private val frame = input.toDF().select(col("value") % 40 as "key").groupBy("key").agg(count("*") as "n")
    private var fed = Seq.empty[Int]
    private var batches = 0

    def folder = new CheckpointFolder(new Path(root.toString), new Configuration)

    def start(): StreamingQuery = frame.writeStream.format("noop").outputMode("update")
      .option("checkpointLocation", root.toString).trigger(Trigger.ProcessingTime(0)).start()

    /** As its owner in Python does, short of the replay: `restore` is of the batch the logs end with. */
    def under(intervalMs: Long = 10, retained: Int = 2, restore: Long = 0, ending: String = "SUSPENDED")(
        body: (CheckpointDriver, StreamingQuery) => Unit
    ): Unit = {
      val driver =
        Checkpointing.start(
          spark,
          root.toString,
          CheckpointSpec(CoordinatorSettings(Option(intervalMs).filter(_ >= 0), 60000, retained = retained))
        )
      try {
        if (restore > 0) driver.restoreFrom(restore)
        driver.goOn(-1)
        val query = start()
        try body(driver, query)
        finally query.stop()
      } finally driver.end(ending)
    }

    def batch(query: StreamingQuery, values: Seq[Int] = 0 until 100): Unit = {
      input.addData(values)
      query.processAllAvailable()
      fed ++= values
      batches += 1
    }

    /** A batch, and the checkpoint at its end. */
    def checkpoint(driver: CheckpointDriver, query: StreamingQuery, values: Seq[Int] = 0 until 100): Unit = {
      val before = counts(driver, "completed")
      batch(query, values)
      eventually(assert(counts(driver, "completed") == before + 1))
    }

    def newestBatch: Int = batches - 1

    def expected: Map[Int, Long] = fed.groupBy(_ % 40).map { case (key, values) => key -> values.size.toLong }

    /** By Spark's own reader. */
    def state(batch: Int): Map[Int, Long] =
      spark.read.format("statestore").option("path", root.toString).option("batchId", batch.toLong).load()
        .selectExpr("key.key", "value.count").collect().map(row => row.getInt(0) -> row.getLong(1)).toMap

    def completed: Seq[CheckpointMetadata] = folder.completed().map(_._1)

    def files(below: String, ending: String): Seq[String] = {
      val from = root.resolve(below)
      if (!Files.exists(from)) Nil
      else {
        val walk = Files.walk(from)
        try walk.iterator.asScala.map(root.relativize(_).toString).filter(_.endsWith(ending)).toSeq.sorted
        finally walk.close()
      }
    }
    def merged: Seq[String] = files("snapline/merged", ".merged")
    def handles: Seq[String] = files("state", ".handle")
    def tables: Seq[String] = files("state", ".sst")
  }

  private def counts(driver: CheckpointDriver, what: String): Int =
    new ObjectMapper().readTree(driver.history).get("counts").get(what).asInt

  test("a checkpoint of many partitions is one file and their new tables; older ones go as a whole") {
    val query = new Counted
    query.under() { (driver, running) =>
      (1 to 5).foreach { number =>
        query.checkpoint(driver, running, number * 10 until number * 10 + 20)
        assert(counts(driver, "failed") == 0)
        eventually(assert(query.merged.size == math.min(number, 2)))
        assert(query.handles.isEmpty)
        val named = query.completed.flatMap(_.handles.flatMap { case (store, handle) =>
          handle.files.map(file => s"${store.folder}/${file.storedName}")
        })
        eventually(assert(query.tables.toSet == named.toSet))
      }
    }
    assert(query.completed.map(_.handles.size) == Seq(Partitions, Partitions))
    val incremental = query.completed.last.handles.values
    assert(incremental.exists(handle => handle.uploadedFiles < handle.files.size), "tables are shared as ever")
    assert(incremental.forall(_.merged.isDefined))
    assert(query.state(query.newestBatch) == query.expected)
  }

  test(
    "with their table files inside the handles, many small stores are one file for each checkpoint, and its metadata"
  ) {
    spark.conf.set(ProviderSettings.InlineThreshold, "20k")
    try {
      val query = new Counted
      query.under(retained = 10) { (driver, running) =>
        (1 to 3).foreach { number =>
          query.checkpoint(driver, running, number until 40)
          assert(query.merged.size == number && query.handles.isEmpty && query.tables.isEmpty)
          assert(query.files("snapline", "").filter(name => Files.isRegularFile(query.root.resolve(name)))
            .filterNot(_.endsWith(".crc")).size == 2 * number)
        }
      }
      query.under(restore = query.completed.last.checkpoint) { (driver, running) =>
        query.checkpoint(driver, running, 5 until 10)
      }
      assert(query.state(query.newestBatch) == query.expected)
    } finally spark.conf.set(ProviderSettings.InlineThreshold, "0")
  }

  test("a run goes on from handles in merged files, again and again") {
    val query = new Counted
    query.under()((driver, running) => query.checkpoint(driver, running))
    (1 to 3).foreach { number =>
      query.under(restore = query.completed.last.checkpoint) { (driver, running) =>
        query.checkpoint(driver, running, number until 50)
      }
      assert(query.handles.isEmpty && query.merged.size == 2)
      assert(query.state(query.newestBatch) == query.expected)
    }
  }

  test("merging that is turned off, and on again") {
    val query = new Counted
    query.under()((driver, running) => query.checkpoint(driver, running))
    spark.conf.set(ProviderSettings.FileMerging, "false")
    try {
      query.under(restore = query.completed.last.checkpoint) { (driver, running) =>
        query.checkpoint(driver, running, 5 until 30)
      }
    } finally spark.conf.set(ProviderSettings.FileMerging, "true")
    assert(query.merged.size == 1 && query.handles.size == Partitions)
    query.under(restore = query.completed.last.checkpoint) { (driver, running) =>
      query.checkpoint(driver, running, 7 until 9)
      query.checkpoint(driver, running, 7 until 9)
    }
    eventually(assert(query.merged.size == 2 && query.handles.isEmpty))
    assert(query.state(query.newestBatch) == query.expected)
  }

  test(
    "a query that leaves its interval has all it needs in the stores' folders, and merged files go with their checkpoints"
  ) {
    val query = new Counted
    query.under()((driver, running) => query.checkpoint(driver, running))
    val base = query.completed.head
    query.under(intervalMs = -1, restore = base.checkpoint) { (_, _) =>
      assert(query.handles.size == Partitions, "before the first batch")
    }
    // A plain start knows of no checkpoint.
    val removed = query.root.resolve(query.merged.head)
    val kept = Files.move(removed, query.root.resolve("away"))
    val plain = query.start()
    try query.batch(plain, 3 until 20)
    finally plain.stop()
    assert(query.state(query.newestBatch) == query.expected)
    Files.move(kept, removed)
    query.under(intervalMs = -1, retained = 1) { (driver, running) =>
      query.checkpoint(driver, running, 9 until 12)
    }
    eventually(assert(query.merged.isEmpty))
    assert(query.state(query.newestBatch) == query.expected)
  }

  test(
    "what a crash has left of a handle on its way to its store's folder is written anew; what is whole stays as it is"
  ) {
    val query = new Counted
    query.under()((driver, running) => query.checkpoint(driver, running))
    val base = query.completed.head
    query.folder.unmerge(base, _ => false)
    val copies = query.handles.map(query.root.resolve)
    val good = copies.map(Files.readAllBytes)
    val touched = copies.map(Files.getLastModifiedTime(_))
    Files.write(copies(0), good(0).take(30))
    Files.delete(copies(1))
    query.folder.unmerge(base, _ => false)
    assert(copies.map(Files.readAllBytes).zip(good).forall { case (now, before) => now.sameElements(before) })
    assert(copies.drop(2).map(Files.getLastModifiedTime(_)) == touched.drop(2))
  }

  test("merged files that nobody names go when a recovery begins; those stay that a checkpoint names, or will") {
    val query = new Counted
    query.under() { (driver, running) =>
      query.checkpoint(driver, running)
      query.checkpoint(driver, running)
    }
    val there = query.merged
    def stray(version: Int): String = there.last.replaceAll("/(\\d+)_", s"/${version}_")
    Seq(1, 98, 99).foreach(version => Files.copy(query.root.resolve(there.last), query.root.resolve(stray(version))))
    def willBeNamed(file: NamedFile): Boolean = file match {
      case MergedHandles(ref) => ref.version == 98
      case _ => false
    }
    query.folder.unmerge(query.completed.head, willBeNamed)
    assert(query.merged.toSet == there.toSet + stray(98))
  }

  test("a merged file that is damaged, gone or another is seen before metadata names it") {
    val query = new Counted
    query.under()((driver, running) => query.checkpoint(driver, running))
    val handles = query.completed.head.handles
    query.folder.verify(handles)
    val (store, handle) = handles.head
    val moved = handle.copy(merged = handle.merged.map(place => place.copy(offset = place.offset + 1)))
    intercept[CheckpointDamaged](query.folder.verify(Map(store -> moved)))
    intercept[CheckpointDamaged](query.folder.verify(Map(StoreId(store.operator, 99, store.store) -> handle)))
    val file = query.root.resolve(query.merged.head)
    val good = Files.readAllBytes(file)
    Seq(20, good.length / 2, good.length - 5).foreach { at =>
      Files.write(file, good.updated(at, (good(at) ^ 1).toByte))
      intercept[CheckpointDamaged](query.folder.verify(handles))
    }
    Files.write(file, good)
    val table = new File(query.root.toFile, query.tables.head)
    assert(table.delete())
    assert(intercept[CheckpointDamaged](query.folder.verify(handles)).found.contains(table.getName))
  }

  test("what was not acknowledged is found in merged files") {
    val query = new Counted
    query.under()((driver, running) => query.checkpoint(driver, running))
    val metadata = query.completed.head
    val found = query.folder.handlesOf(metadata.batch + 1, metadata.run)
    metadata.handles.foreach { case (store, handle) =>
      assert(found(store).map(there => (there.meta.ref, there.bytes, there.merged)) ==
        Seq((handle.ref, handle.handleBytes, handle.merged)))
    }
    assert(query.folder.handlesOf(metadata.batch + 1, "another")(metadata.handles.head._1).isEmpty)
  }

  test("a crash's merged files below the oldest checkpoint are swept, and no table file whose handle is merged") {
    val query = new Counted
    query.under(retained = 1) { (driver, running) =>
      query.checkpoint(driver, running)
      query.checkpoint(driver, running, Nil :+ 1)
    }
    val old = System.currentTimeMillis() - 2L * 24 * 60 * 60 * 1000
    query.tables.foreach(table => new File(query.root.toFile, table).setLastModified(old))
    val lost = query.root.resolve(query.merged.head.replaceAll("/(\\d+)_", "/1_"))
    Files.copy(query.root.resolve(query.merged.head), lost)
    query.under(restore = query.completed.last.checkpoint) { (driver, running) =>
      query.checkpoint(driver, running, Seq(2))
      eventually(assert(!Files.exists(lost)))
    }
    query.completed.foreach(metadata => query.folder.verify(metadata.handles))
    assert(query.state(query.newestBatch) == query.expected)
  }
}
