package io.snapline.spark.operator.task

import java.nio.ByteBuffer
import java.nio.channels.ClosedByInterruptException

import scala.collection.mutable
import scala.util.Random

import org.apache.arrow.memory.RootAllocator
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.execution.streaming.state.snapline.StoreCalls
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.spark.operator.channel.RowLimit
import io.snapline.spark.operator.{FakeWorker, KeyedModel, KeyedProgram, OperatorStore}
import io.snapline.spark.operator.frames.{WorkerFrame, WorkerLink}
import io.snapline.spark.operator.state._
import io.snapline.spark.settings.WorkerLimits
import org.apache.spark.sql.execution.python.snapline.ArrowSchemas

/** The operator against a model: random rows and timers, tiny bounds, several micro-batches. */
class KeyedTaskSpec extends AnyFunSuite {
  private val key = new StructType().add("k", LongType)
  private val input = Seq("k", "n", "t").map(AttributeReference(_, LongType)())
  private val output = StructType(Seq("k", "a", "b", "c").map(StructField(_, LongType)))
  private val spec = KeyedSpec(
    "program",
    KeyedSpec.Element,
    Seq(
      StateSpec("sum", StateSpec.Value, None, LongType, ttl = false, eventTimeTtl = false, prefetch = true, None),
      StateSpec("seen", StateSpec.ListKind, None, LongType, ttl = false, eventTimeTtl = false, prefetch = true, None),
      StateSpec(
        "per",
        StateSpec.MapKind,
        Some(LongType),
        LongType,
        ttl = false,
        eventTimeTtl = false,
        prefetch = true,
        None
      )
    ),
    Nil,
    Nil,
    None,
    None
  )

  private def setup(batch: Long, watermark: Long, limits: WorkerLimits, live: Boolean = false): TaskSetup = TaskSetup(
    spec,
    input,
    Seq(0),
    output,
    batch,
    0,
    Some(watermark),
    None,
    "UTC",
    streaming = true,
    limits,
    Nil,
    live = live
  )

  /** What a task is made of, but for its worker. */
  private final class Parts(store: StateStore, setup: TaskSetup, rows: Iterator[InternalRow]) {
    private val counts = new ChangeCounts
    val allocator = new RootAllocator
    val schemaOf = ArrowSchemas.of("UTC") _
    setup.families.foreach(_.createIn(store))
    private val access =
      new StateAccess(
        store,
        key,
        new EpochKeys,
        allocator,
        schemaOf,
        setup.limits.maxPrefetch,
        counts,
        setup.limits.chunkBytes
      )
    val exchanges = spec.states.zipWithIndex.map { case (s, i) => StateSync.of(i, s, access) }
    private val timers = new Timers(key, store, counts, setup.limits.chunkBytes)
    private val feed = new ChunkFeed(setup, rows, access, exchanges, LateRule.None)

    def task(worker: WorkerLink): KeyedTask =
      new KeyedTask(
        setup,
        worker,
        feed,
        TaskStates(exchanges, timers, access, new OperatorStates(Nil, access)),
        mutable.Queue.empty,
        RowLimit.None,
        isLast = true,
        TaskPlace(0, 1)
      )
  }

  private final class Run(store: StateStore, setup: TaskSetup, rows: Iterator[InternalRow]) {
    private val parts = new Parts(store, setup, rows)
    private val worker = new FakeWorker(parts.exchanges, setup, parts.allocator, parts.schemaOf)
    private val task = parts.task(worker)
    val out: Seq[KeyedProgram.Output] =
      task.map(row => (row.getLong(0), row.getLong(1), row.getLong(2), row.getLong(3))).toList
    val epochs: Long = task.epochs
    assert(task.metrics == Map("seen" -> 1L))
    worker.join()
    val fetches: Int = worker.fetches
    task.close()
    // Every vector was given back: Arrow's memory is the task's to return.
    parts.allocator.close()
  }

  private def contents(store: StateStore)
      : (Map[Long, Long], Map[Long, Seq[Long]], Map[(Long, Long), Long], Set[(Long, Long)]) = (
    store.iterator("sum").map(p => p.key.getLong(0) -> p.value.getLong(0)).toMap,
    StoreCalls.lists(store, "seen").map(p => p.key.getLong(0) -> p.value.getLong(0)).toSeq.groupMap(_._1)(_._2),
    store
      .iterator("per")
      .map(p => (p.key.getStruct(0, 1).getLong(0), p.key.getStruct(1, 1).getLong(0)) -> p.value.getLong(0))
      .toMap,
    store.iterator(Timers.family(Timers.EventTime)).map(p => (p.key.getLong(0), p.key.getStruct(1, 1).getLong(0))).toSet
  )

  /** Rows that come one by one, at once or a little later, while ticks go by. */
  private def brought(rows: Iterator[UnsafeRow], random: Random): LiveRows = {
    val live = new LiveRows(1 + random.nextInt(4), 1 << 20)
    val thread = new Thread(() => {
      rows.foreach { row =>
        if (random.nextInt(4) == 0) Thread.sleep(random.nextInt(3).toLong)
        live.put(row.copy())
      }
      live.end(null)
    })
    thread.setDaemon(true)
    thread.start()
    live
  }

  private def check(seed: Long, live: Boolean): (Long, Int) = {
    val random = new Random(seed)
    val model = new KeyedModel
    var epochs = 0L
    var fetches = 0
    OperatorStore.withProvider(key, NoPrefixKeyStateEncoderSpec(key)) { provider =>
      var watermark = 0L
      (0 until 1 + random.nextInt(4)).foreach { batch =>
        val limits = WorkerLimits(
          maxKeys = 1 + random.nextInt(6),
          maxBytes = if (random.nextBoolean()) 1 else 1 << 20,
          chunkRows = 1 + random.nextInt(8),
          arrowChunkRows = 1,
          maxPrefetch = random.nextInt(4),
          chunkBytes = if (random.nextBoolean()) 1 + random.nextInt(400) else 1 << 20,
          tickMillis = 1 + random.nextInt(5)
        )
        val keys = 1 + random.nextInt(12)
        val rows = Seq.fill(random.nextInt(60)) {
          (random.nextInt(keys).toLong, random.nextInt(40).toLong, watermark + random.nextInt(20))
        }
        watermark += random.nextInt(15)
        val store = provider.getStore(batch.toLong)
        try {
          val projection = UnsafeProjection.create(input.map(_.dataType).toArray)
          val raw = rows.iterator.map { case (k, n, t) => projection(InternalRow(k, n, t)) }
          val source = if (live) brought(raw, new Random(seed)) else raw
          val run = new Run(store, setup(batch.toLong, watermark, limits, live), source)
          val expected = model.run(rows, watermark)
          assert(run.out.groupBy(_._1) == expected, s"output of batch $batch, seed $seed")
          val (values, lists, maps, timers) = contents(store)
          assert(values == model.values.toMap, s"values of batch $batch, seed $seed")
          assert(lists == model.lists.filter(_._2.nonEmpty).toMap, s"lists of batch $batch, seed $seed")
          assert(maps == model.maps.toMap, s"maps of batch $batch, seed $seed")
          assert(timers == model.timers.toSet, s"timers of batch $batch, seed $seed")
          store.commit()
          epochs += run.epochs
          fetches += run.fetches
        } finally if (!store.hasCommitted) store.abort()
      }
    }
    (epochs, fetches)
  }

  test("a task that its worker does not take gives its memory back") {
    val broken = new WorkerLink {
      override def send(frame: Array[ByteBuffer]): Unit = throw new ClosedByInterruptException
      override def receive(): WorkerFrame = null
      override def finish(): Unit = ()
    }
    OperatorStore.withProvider(key, NoPrefixKeyStateEncoderSpec(key)) { provider =>
      val store = provider.getStore(0)
      try {
        val parts = new Parts(store, setup(0, 0, WorkerLimits(4, 1 << 20, 4, 1, 4, 1 << 20)), Iterator.empty)
        assertThrows[ClosedByInterruptException](parts.task(broken))
        parts.allocator.close()
      } finally store.abort()
    }
  }

  test("whatever the bounds and the order, state, timers and output are the model's") {
    val seeds = 0L until sys.props.getOrElse("snapline.test.seeds", "40").toLong
    val (epochs, fetches) = seeds.map(check(_, live = false)).unzip
    // The bounds were small enough to matter.
    assert(epochs.sum > seeds.size * 5 && fetches.sum > seeds.size)
  }

  test("so they are where rows come one by one while the micro-batch lasts") {
    val seeds = 0L until sys.props.getOrElse("snapline.test.seeds", "40").toLong
    val (epochs, _) = seeds.map(check(_, live = true)).unzip
    assert(epochs.sum > seeds.size * 5)
  }
}
