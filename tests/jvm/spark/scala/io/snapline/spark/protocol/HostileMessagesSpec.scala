package io.snapline.spark.protocol

import java.nio.file.{Files, Path => LocalPath}
import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.Trigger
import org.scalatest.BeforeAndAfterAll
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.snapline.checkpoint._
import io.snapline.snapshot.format.VersionRef
import io.snapline.snapshot.merged.MergedPlace
import io.snapline.spark.coordinator.{CheckpointSpec, Checkpointing}
import io.snapline.spark.LocalSpark
import io.snapline.spark.plugin.SnaplinePlugin
import io.snapline.spark.provider.ProviderSettings

/** Whoever reaches Spark's RPC sends the driver what no executor would, over that very way. */
class HostileMessagesSpec extends AnyFunSuite with BeforeAndAfterAll with Eventually {
  private var spark: SparkSession = _
  private val plugin = "spark.plugins" -> classOf[SnaplinePlugin].getName
  private val apart = ProviderSettings.InlineThreshold -> "0"

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(60, Seconds), Span(50, Millis))

  override def beforeAll(): Unit = spark = LocalSpark.start(LocalSpark.provider, LocalSpark.extension, plugin, apart)

  override def afterAll(): Unit = LocalSpark.stop(spark)

  private def send(message: AnyRef): AnyRef =
    ExecutorLink.ask(message, "Nothing can be sent")((_, e) => new RuntimeException(e))

  private val uid = "0190c0ff-ee00-7000-8000-000000000000"

  /** Of a checkpoint that is complete, with the names of its files: what would free them, if it were believed. */
  private def forged(query: String, run: String, metadata: CheckpointMetadata): Seq[AnyRef] = {
    val (store, handle) = metadata.handles.head
    val ack = Acknowledgement(query, run, metadata.checkpoint, store, handle)
    val elsewhere = UUID.randomUUID().toString
    val runs = Seq(ack.copy(query = elsewhere), ack.copy(run = elsewhere), ack)
    val numbers = Seq(0L, 1L, metadata.checkpoint + 1, 1000000L, -1L, Long.MaxValue)
    val acks = runs ++ runs.flatMap(one => numbers.map(n => one.copy(checkpoint = n)))
    // Each of these, with other files in it, and as a decline.
    val others = acks.flatMap { one =>
      val paths = Seq("../../../../victim", "..", uid)
      paths.flatMap(path =>
        Seq(
          one.copy(store = store.copy(store = path)),
          one.copy(handle = handle.copy(ref = VersionRef(handle.ref.version, path))),
          one.copy(handle = handle.copy(files = Seq(SharedFile(path, 1, 1)))),
          one.copy(handle = handle.copy(merged = Some(MergedPlace(path, 0))))
        )
      )
    }
    val declines = acks.map(one =>
      Decline(one.query, one.run, one.checkpoint, store.copy(operator = 99), FailureReason.AsyncFailure, "x" * 100000)
    )
    acks ++ others ++ declines ++ Seq[AnyRef](
      "a text",
      Int.box(7),
      new java.util.ArrayList[String](),
      ack.copy(handle = null),
      ack.copy(store = null),
      HoldersReport("driver", Seq(run), Seq(HeldStore(run, store, VersionRef(999999, uid)))),
      HoldersReport("driver", Seq("../run"), Nil),
      BroadcastReport(elsewhere, 0, 1, 0, Seq(("rules", 1L, 1L), ("more", 1L, 1L))),
      BroadcastReport(elsewhere, 0, 1, 1, Nil),
      FirstRun(elsewhere, 0, 1, 0, 5),
      FirstRun(run, -1, 1, 0, 5),
      DriverMessage.Read("a", -1, Int.MaxValue),
      DriverMessage.Append("a", "b", Int.MaxValue, new Array[Byte](10)),
      DriverMessage.Append("a", "b", -1, new Array[Byte](10))
    )
  }

  test("a query goes on, and its files stay, whatever it is sent") {
    val base = Files.createTempDirectory("snapline-hostile")
    val folder = base.resolve("checkpoint").toString
    // Where the names below would lead.
    val victims = Seq("checkpoint/victim.sst", "checkpoint/state/victim.handle", "victim.sst").map(base.resolve)
    val driver =
      Checkpointing.start(
        spark,
        folder,
        CheckpointSpec(CoordinatorSettings(Some(100), 60000, tolerableFailures = 1000, retained = 2))
      )
    val checkpoints = new CheckpointFolder(new Path(folder), new Configuration)
    val session = spark
    import session.implicits._
    val input = MemoryStream[Int](spark)
    val query = input.toDF().groupBy(col("value") % 7 as "key").agg(count("*") as "n").writeStream.format("noop")
      .outputMode("update").option("checkpointLocation", folder).trigger(Trigger.ProcessingTime(0)).start()
    def completed: Seq[CheckpointMetadata] = checkpoints.completed().map(_._1)
    def batch(): Unit = {
      input.addData(0 until 14)
      query.processAllAvailable()
    }
    try {
      batch()
      eventually(assert(completed.nonEmpty))
      victims.foreach(Files.write(_, Array[Byte](1)): LocalPath)
      // Between batches, when checkpoints are under way, and when none is.
      for (round <- 0 until 5) {
        val newest = completed.last
        for (message <- forged(query.id.toString, query.runId.toString, newest)) {
          val answer = send(message)
          message match {
            case ack: Acknowledgement if ack.run != query.runId.toString || ack.query != query.id.toString =>
              assert(answer == java.lang.Boolean.FALSE, ack)
            case asked: FirstRun => assert(answer != java.lang.Boolean.TRUE, asked)
            case _ => ()
          }
          if (message.hashCode % 40 == round) batch()
        }
        batch()
        eventually(assert(completed.last.checkpoint > newest.checkpoint))
        eventually(completed.foreach(each => checkpoints.verify(each.handles)))
      }
      assert(query.isActive && query.lastProgress.stateOperators.head.numRowsTotal == 7)
    } finally {
      query.stop()
      driver.end("SUSPENDED")
    }
    assert(victims.forall(Files.exists(_)))
    completed.foreach(each => checkpoints.verify(each.handles))
  }
}
