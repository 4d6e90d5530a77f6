package io.snapline.spark.operator.channel

import java.nio.file.Files
import java.util.UUID

import org.apache.spark.TaskContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.execution.streaming.state.{NoPrefixKeyStateEncoderSpec, StateStore}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.types.{LongType, StructType}
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.checkpoint.CoordinatorSettings
import io.snapline.spark.LocalSpark
import io.snapline.spark.coordinator.{CheckpointSpec, Checkpointing}
import io.snapline.spark.operator.OperatorStore
import io.snapline.spark.plugin.SnaplinePlugin
import io.snapline.spark.protocol.{Alignment, ChannelLimits, FirstRun, FirstRuns, TaskBarrier}

class TaskCutsSpec extends AnyFunSuite with BeforeAndAfterAll {
  private var spark: SparkSession = _
  private val plugin = "spark.plugins" -> classOf[SnaplinePlugin].getName
  private val key = new StructType().add("k", LongType)

  override def beforeAll(): Unit = spark = LocalSpark.start(LocalSpark.provider, LocalSpark.extension, plugin)

  override def afterAll(): Unit = LocalSpark.stop(spark)

  /** With the run of a query that has a coordinator. */
  private def withRun(body: UUID => Unit): Unit = {
    val folder = Files.createTempDirectory("snapline-cuts").toString
    val driver = Checkpointing.start(spark, folder, CheckpointSpec(CoordinatorSettings(Some(600000))))
    val session = spark
    import session.implicits._
    val input = MemoryStream[Int](spark)
    val query = input.toDF().groupBy(col("value") % 7 as "key").agg(count("*") as "n").writeStream.format("noop")
      .outputMode("update").option("checkpointLocation", folder).start()
    try {
      input.addData(0 until 14)
      query.processAllAvailable()
      body(query.runId)
    } finally {
      query.stop()
      driver.end("SUSPENDED")
    }
  }

  private def withStore(run: UUID)(body: StateStore => Unit): Unit =
    OperatorStore.withProvider(key, NoPrefixKeyStateEncoderSpec(key), run) { provider =>
      val store = provider.getStore(0)
      try body(store)
      finally store.abort()
    }

  /** Whether a task that runs the batch may stop because its time is up. */
  private def isTimed(run: UUID, store: StateStore, batch: Long): Boolean = {
    val context = spark.sparkContext
    TaskCutsSpec.lent = Some((store, ChannelState.of(store, RowSchema(key, None))))
    context.setLocalProperty(TaskBarrier.Property, TaskCutsSpec.barrier(run).text)
    try context.runJob(context.parallelize(Seq(batch), 1), TaskCutsSpec.isTimed).head
    finally context.setLocalProperty(TaskBarrier.Property, null)
  }

  test("only the first run of a batch may stop because its time is up, whatever executor the others come to") {
    withRun { run =>
      withStore(run) { store =>
        assert(isTimed(run, store, 100))
        assert(!isTimed(run, store, 100), "a second action")
        val elsewhere = FirstRun(run.toString, store.id.operatorId, 101, store.id.partitionId, 1L << 40)
        assert(FirstRuns.isFirst(elsewhere) && FirstRuns.isFirst(elsewhere))
        assert(!isTimed(run, store, 101), "another executor was first")
        assert(isTimed(run, store, 102))
        assert(!isTimed(run, store, 101), "it is over")
      }
    }
  }

  test("a task of a run that the driver does not know is cut nowhere") {
    val run = UUID.randomUUID()
    withStore(run)(store => assert(!isTimed(run, store, 100)))
  }
}

private object TaskCutsSpec {

  /** The store for the next task, which runs in this process, and what waits in it. */
  @volatile var lent: Option[(StateStore, ChannelState)] = None

  val isTimed: (TaskContext, Iterator[Long]) => Boolean = (task, batches) => {
    val (store, waiting) = lent.get
    val cuts = TaskCuts.of(store, waiting, batches.next(), System.currentTimeMillis(), stopsWithin = true, task)
    cuts.isInstanceOf[Cuts.Timed]
  }

  def barrier(run: UUID): TaskBarrier = {
    val limits = ChannelLimits(Long.MaxValue, Long.MaxValue, 100, fails = false)
    val alignment = Alignment.Unaligned(60000, limits)
    TaskBarrier(run, false, true, None, None, None, Set.empty, None, None, false, alignment)
  }
}
