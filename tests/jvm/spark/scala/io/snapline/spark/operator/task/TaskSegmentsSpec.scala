package io.snapline.spark.operator.task

import scala.collection.mutable
import scala.util.Random

import org.apache.arrow.memory.RootAllocator
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, UnsafeProjection}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.execution.streaming.state.snapline.StoreCalls
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.spark.operator.channel._
import io.snapline.spark.operator.frames.WorkerLink
import io.snapline.spark.operator.{FakeWorker, KeyedModel, KeyedProgram, OperatorStore}
import io.snapline.spark.operator.state._
import io.snapline.spark.provider.SnaplineStateStore
import io.snapline.spark.settings.WorkerLimits
import io.snapline.storage.ArrayStorage
import org.apache.spark.sql.execution.python.snapline.ArrowSchemas

/** Micro-batches that are cut anywhere, against a model that knows of no cuts. */
class TaskSegmentsSpec extends AnyFunSuite {
  private type Row = (Long, Long, Long)
  private val key = new StructType().add("k", LongType)
  private val input = Seq("k", "n", "t").map(AttributeReference(_, LongType)())
  private val output = StructType(Seq("k", "a", "b", "c").map(StructField(_, LongType)))
  private val toRow = UnsafeProjection.create(input.map(_.dataType).toArray)

  /** Says when a worker stops within a chunk. */
  private var coin = new Random(0)

  private def state(name: String, kind: String, userKey: Option[DataType]) =
    StateSpec(name, kind, userKey, LongType, ttl = false, eventTimeTtl = false, prefetch = true, None)

  private val spec = KeyedSpec(
    "program",
    KeyedSpec.Element,
    Seq(
      state("sum", StateSpec.Value, None),
      state("seen", StateSpec.ListKind, None),
      state("per", StateSpec.MapKind, Some(LongType))
    ),
    Nil,
    Nil,
    None,
    None
  )

  private def limits(random: Random) = WorkerLimits(
    chunkBytes = if (random.nextBoolean()) 1 + random.nextInt(300) else 1 << 20,
    maxKeys = 1 + random.nextInt(6),
    maxBytes = if (random.nextBoolean()) 1 else 1 << 20,
    chunkRows = 1 + random.nextInt(8),
    arrowChunkRows = 1,
    maxPrefetch = random.nextInt(4)
  )

  private final class Batch(val number: Long, val rows: Seq[Row], val watermark: Long) {
    def setup(limits: WorkerLimits): TaskSetup =
      TaskSetup(spec, input, Seq(0), output, number, number, Some(watermark), None, "UTC", true, limits, Nil)
  }

  /** Runs one task; what it put out, by key, and the rows that wait now, by key. */
  private def run(
      store: StateStore,
      batch: Batch,
      rows: Seq[Row],
      limits: WorkerLimits,
      cuts: Cuts
  ): (Map[Long, Seq[KeyedProgram.Output]], Map[Long, Seq[Row]]) = {
    val setup = batch.setup(limits)
    val allocator = new RootAllocator
    val schemaOf = ArrowSchemas.of("UTC") _
    setup.families.foreach(_.createIn(store))
    var worker: FakeWorker = null
    val schemas = new StateAccess(store, key, new EpochKeys, allocator, schemaOf, 0, new ChangeCounts)
    val exchanges = spec.states.zipWithIndex.map { case (s, i) => StateSync.of(i, s, schemas) }
    def start(): WorkerLink = {
      worker = new FakeWorker(exchanges, setup, allocator, schemaOf, () => coin.nextInt(15) == 0)
      worker
    }
    val runtime = new TaskRuntime(setup, store, new ChangeCounts, schemaOf, allocator, TaskPlace(0, 1), () => start())
    val source = rows.iterator.map { case (k, n, t) => toRow(InternalRow(k, n, t)) }
    val task = runtime.open(source, BroadcastRows.None, LateRule.None, mutable.Queue.empty, cuts)
    val out = task.map(row => (row.getLong(0), row.getLong(1), row.getLong(2), row.getLong(3))).toList
    if (worker != null) {
      worker.join()
      // Rows that waited are told from those of the batch, and from those that were processed in their own.
      assert(worker.batches.forall { case (of, running) => of <= running && running == batch.number })
      assert(worker.batches.map(_._1) == worker.batches.map(_._1).distinct.sorted)
    }
    exchanges.foreach(_.close())
    // Every vector was given back, whatever was left undone.
    runtime.close()
    val channel = ChannelState.of(store, RowSchema(setup.inputSchema, None))
    val waiting = channel.segments.flatMap(channel.read(_).map(r => (r.getLong(0), r.getLong(1), r.getLong(2))).toList)
    assert(waiting.size == channel.rowCount)
    (out.groupBy(_._1), waiting.groupBy(_._1))
  }

  private def contents(store: StateStore) = (
    store.iterator("sum").map(p => p.key.getLong(0) -> p.value.getLong(0)).toMap,
    StoreCalls.lists(store, "seen").map(p => p.key.getLong(0) -> p.value.getLong(0)).toSeq.groupMap(_._1)(_._2),
    store.iterator("per").map { p =>
      (p.key.getStruct(0, 1).getLong(0), p.key.getStruct(1, 1).getLong(0)) -> p.value.getLong(0)
    }.toMap,
    store.iterator(Timers.family(Timers.EventTime)).map(p => (p.key.getLong(0), p.key.getStruct(1, 1).getLong(0))).toSet
  )

  /** A clock that goes on whenever somebody looks, and a time that is soon over. */
  private def timed(random: Random, records: CutRecords): Cuts = {
    var time = 0L
    val pace = random.nextInt(400000)
    val budget = new TimeBudget(1 + random.nextInt(3).toLong, random.nextBoolean(), () => { time += pace; time })
    new Cuts.Timed(budget, records)
  }

  private def batches(random: Random): Seq[Batch] = {
    var watermark = 0L
    (0 until 1 + random.nextInt(6)).map { number =>
      val keys = 1 + random.nextInt(12)
      val rows = Seq.fill(random.nextInt(80)) {
        (random.nextInt(keys).toLong, random.nextInt(40).toLong, watermark + random.nextInt(20))
      }
      watermark += random.nextInt(15)
      new Batch(number.toLong, rows, watermark)
    }
  }

  /** As another shuffle would bring them: the order of a key's rows is fixed, and no other. */
  private def reshuffled(random: Random, rows: Seq[Row]): Seq[Row] = {
    val queues = rows.groupBy(_._1).view.mapValues(mutable.Queue.from(_)).toMap
    random.shuffle(rows.map(_._1)).map(queues(_).dequeue())
  }

  private def checked(seed: Long): (Int, Int) = {
    val random = new Random(seed)
    coin = new Random(seed)
    val model = new KeyedModel
    var cutBatches = 0
    var most = 0
    OperatorStore.withProvider(key, NoPrefixKeyStateEncoderSpec(key)) { provider =>
      val out = mutable.Map.empty[Long, Vector[KeyedProgram.Output]]
      val expected = mutable.Map.empty[Long, Vector[KeyedProgram.Output]]
      def add(to: mutable.Map[Long, Vector[KeyedProgram.Output]], rows: Map[Long, Seq[KeyedProgram.Output]]): Unit =
        rows.foreach { case (k, seq) => to(k) = to.getOrElse(k, Vector.empty) ++ seq }
      def last[A](version: Long)(body: StateStore => A): A = {
        val store = provider.getStore(version)
        try {
          val result = body(store)
          store.commit(): Unit
          result
        } finally if (!store.hasCommitted) store.abort()
      }
      val all = batches(random)
      all.foreach { batch =>
        add(expected, model.run(batch.rows, batch.watermark))
        val records = new CutRecords(new ArrayStorage("memory"), batch.number, 0, 0)
        // The first attempt comes to nothing; what it noted stays.
        val first = provider.getStore(batch.number)
        val (tried, leftFirst, after) =
          try {
            val (tried, left) = run(first, batch, batch.rows, limits(random), timed(random, records))
            (tried, left, contents(first))
          } finally first.abort()
        last(batch.number) { store =>
          val cuts = Cuts.repeated(records, committed = false, batch.number)
          val (done, left) = run(store, batch, reshuffled(random, batch.rows), limits(random), cuts)
          assert(done == tried, s"output of batch ${batch.number} when it is run again, seed $seed")
          assert(left == leftFirst, s"rows that wait after batch ${batch.number} is run again, seed $seed")
          assert(contents(store) == after, s"state of batch ${batch.number} when it is run again, seed $seed")
          if (ChannelState.of(store, RowSchema(batch.setup(limits(random)).inputSchema, None)).segments.nonEmpty)
            cutBatches += 1
          most = math.max(most, left.values.map(_.size).sum)
          add(out, done)
        }
      }
      // A batch without rows works off all that waits, and its own watermark is the one before.
      val end = new Batch(all.size.toLong, Nil, all.last.watermark)
      last(end.number) { store =>
        val (done, left) = run(store, end, Nil, limits(random), Cuts.Never)
        add(out, done)
        assert(left.isEmpty)
        assert(out == expected, s"output, seed $seed")
        val (values, lists, maps, timers) = contents(store)
        assert(values == model.values.toMap, s"values, seed $seed")
        assert(lists == model.lists.filter(_._2.nonEmpty).toMap, s"lists, seed $seed")
        assert(maps == model.maps.toMap, s"maps, seed $seed")
        assert(timers == model.timers.toSet, s"timers, seed $seed")
        val holds = store.asInstanceOf[SnaplineStateStore].holds(ChannelState.Family)
        assert(!holds || store.iterator(ChannelState.Family).isEmpty, s"channel state is left, seed $seed")
      }
    }
    (cutBatches, most)
  }

  test("wherever batches are cut, and however often they are run again, output and state are those without cuts") {
    val seeds = 0L until sys.props.getOrElse("snapline.test.seeds", "25").toLong
    val (cuts, waiting) = seeds.map(checked).unzip
    // There was something to get wrong.
    assert(cuts.sum > seeds.size && waiting.max > 20)
  }
}
