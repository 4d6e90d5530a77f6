package io.snapline.spark.operator.task

import scala.collection.mutable

import org.apache.arrow.memory.RootAllocator
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.StateTooLarge
import io.snapline.spark.operator.channel.RowLimit
import io.snapline.spark.operator.frames.{WorkerFrame, FrameBuilder, PartReader}
import io.snapline.spark.operator.OperatorStore
import io.snapline.spark.operator.state._
import io.snapline.spark.settings.WorkerLimits
import org.apache.spark.sql.execution.python.snapline.ArrowSchemas

/** Frames are counted in bytes: of wide rows, and of keys with much state. */
class ChunkBytesSpec extends AnyFunSuite {
  private val bound = 10000L
  private val key = new StructType().add("k", LongType)
  private val wide = new StructType().add("k", LongType).add("text", StringType)
  private val input = wide.map(field => AttributeReference(field.name, field.dataType)())
  private val toRow = UnsafeProjection.create(wide)

  private def state(name: String, kind: String, mapKey: Option[DataType], entry: Option[String] = None) =
    StateSpec(name, kind, mapKey, StringType, ttl = false, eventTimeTtl = false, prefetch = true, entry)

  private val value = state("value", StateSpec.Value, None)
  private val list = state("list", StateSpec.ListKind, None)
  private val map = state("map", StateSpec.MapKind, Some(LongType))
  private val byRow = state("by row", StateSpec.MapKind, Some(StringType), Some("text"))

  private def text(length: Int): UTF8String = UTF8String.fromString("x" * length)
  private def rows(keys: Seq[Long], length: Int): Seq[UnsafeRow] =
    keys.map(k => toRow(InternalRow(k, text(length))).copy())

  private final class Given(store: StateStore, states: Seq[StateSpec], mode: String = KeyedSpec.Element)
      extends AutoCloseable {
    val spec = KeyedSpec("wide", mode, states, Nil, Nil, None, None)
    val limits = WorkerLimits(1000000, 1L << 30, 10000, 10000, 100, bound)
    val setup =
      TaskSetup(spec, input, Seq(0), wide, 0, 0, None, None, "UTC", streaming = true, limits, Nil)
    setup.families.foreach(_.createIn(store))
    private val allocator = new RootAllocator
    val counts = new ChangeCounts
    val access =
      new StateAccess(store, key, new EpochKeys, allocator, ArrowSchemas.of("UTC") _, 100, counts, bound)
    val exchanges = states.zipWithIndex.map { case (each, i) => StateSync.of(i, each, access) }
    val timers = new Timers(key, store, counts, bound)

    def feed(rows: Iterator[InternalRow], late: LateRule = LateRule.None) =
      new ChunkFeed(setup, rows, access, exchanges, late)

    /** The keys of each frame, in order, and its bytes; each is taken for an epoch where it ends one. */
    def chunks(rows: Seq[UnsafeRow]): Seq[(Seq[Long], Int)] = {
      // A source lends one row, as Spark's do.
      val lent = new UnsafeRow(2)
      val chunks = feed(rows.iterator.map { row => lent.pointTo(row.getBytes, row.getSizeInBytes); lent })
      val marks = if (spec.arrow && states.exists(_.entry.isDefined)) Seq("__slot", "__entry") else Seq("__slot")
      val reader =
        access.reader(WorkerFrame.RowsPart, marks.foldLeft(wide)(_.add(_, IntegerType)))
      val keyReader = access.reader(WorkerFrame.KeysPart, key)
      val found = mutable.ArrayBuffer.empty[(Seq[Long], Int)]
      try while (chunks.hasRows) {
          val (builder, meta, end) = chunks.next(RowLimit.None)
          val bytes = builder.build(meta).flatMap(_.array)
          val frame = WorkerFrame.read(java.util.Arrays.copyOfRange(bytes, 4, bytes.length))
          val part = (0 until frame.parts).find(frame.id(_) == WorkerFrame.RowsPart).get
          val batch = reader.read(frame, part)
          keysOf(frame, keyReader)
          // The key that a row names is the row's own: what the epoch began, and the chunks before this one.
          (0 until batch.numRows()).foreach { i =>
            assert(epoch(batch.getRow(i).getInt(2)) == batch.getRow(i).getLong(0))
          }
          found += (0 until batch.numRows()).map(batch.getRow(_).getLong(0)) -> builder.size
          if (end) {
            chunks.endEpoch()
            epoch.clear()
          }
        }
      finally {
        reader.close()
        keyReader.close()
        chunks.writers.foreach(_.close())
      }
      found.toSeq
    }

    private val epoch = mutable.ArrayBuffer.empty[Long]

    private def keysOf(frame: WorkerFrame, reader: PartReader): Unit = {
      assert(frame.long("first_slot") == epoch.size)
      val batch = reader.read(frame, (0 until frame.parts).find(frame.id(_) == WorkerFrame.KeysPart).get)
      epoch ++= (0 until batch.numRows()).map(batch.getRow(_).getLong(0))
    }

    override def close(): Unit = {
      exchanges.foreach(_.close())
      allocator.close()
    }
  }

  private def withStore(states: StateSpec*)(body: (StateStore, Given) => Unit): Unit =
    withStoreIn(KeyedSpec.Element, states: _*)(body)

  private def withStoreIn(mode: String, states: StateSpec*)(body: (StateStore, Given) => Unit): Unit =
    OperatorStore.withProvider(key, NoPrefixKeyStateEncoderSpec(key)) { provider =>
      val store = provider.getStore(0)
      val given0 = new Given(store, states, mode)
      try body(store, given0)
      finally {
        given0.close()
        store.abort()
      }
    }

  private def keyRow(k: Long): UnsafeRow = UnsafeProjection.create(key).apply(InternalRow(k)).copy()
  private def textRow(length: Int): UnsafeRow =
    UnsafeProjection.create(new StructType().add("value", StringType)).apply(InternalRow(text(length))).copy()

  /** Room for the rows and for their state, the keys, and the heads of the messages. */
  private val most = 3 * bound

  test("a chunk of wide rows ends with the bound, keeps their order, and one that is wider travels alone") {
    withStore() { (_, given0) =>
      val keys = (0 until 500).map(_ % 7L)
      val sent = given0.chunks(rows(keys, 1500))
      assert(sent.flatMap(_._1) == keys)
      assert(sent.forall(_._2 <= most) && sent.size > 50)
      val alone = given0.chunks(rows(Seq(1L), 10) ++ rows(Seq(2L), 3 * bound.toInt) ++ rows(Seq(3L), 10))
      assert(alone.map(_._1) == Seq(Seq(1L), Seq(2L), Seq(3L)))
    }
  }

  Seq(value, list, map, byRow).map(_ -> KeyedSpec.Element).concat(Seq(value, byRow).map(_ -> KeyedSpec.Arrow)).foreach {
    case (spec, mode) =>
      test(s"a chunk is cut where the state of its keys no longer fits: ${spec.name}, $mode") {
        withStoreIn(mode, spec) { (store, given0) =>
          val keys = 0L until 300L
          keys.foreach { k =>
            spec.kind match {
              case StateSpec.Value => store.put(keyRow(k), textRow(900), spec.name)
              case StateSpec.ListKind => store.putList(keyRow(k), Array.fill(3)(textRow(300)), spec.name)
              case _ =>
                val entry = if (spec.entry.isDefined) text(5) else 1L
                val stored = spec.storedKey(key)
                val pair = UnsafeProjection.create(stored).apply(InternalRow(InternalRow(k), InternalRow(entry))).copy()
                store.put(pair, textRow(900), spec.name)
            }
          }
          // Each key comes twice: what was cut off is read again, behind what was applied.
          val sent = given0.chunks(rows(keys.flatMap(k => Seq(k, k / 2)), 5))
          assert(sent.flatMap(_._1) == keys.flatMap(k => Seq(k, k / 2)))
          assert(sent.forall(_._2 <= most), s"${sent.map(_._2).max} bytes in a frame")
          assert(sent.size > 20)
        }
      }
  }

  test("a list or map that is larger than the bound is not sent ahead, and fetched in pages within it") {
    withStore(list, map) { (store, given0) =>
      store.putList(keyRow(1), Array.fill(50)(textRow(1000)), list.name)
      val stored = map.storedKey(key)
      (0L until 50L).foreach { i =>
        store.put(
          UnsafeProjection.create(stored).apply(InternalRow(InternalRow(1L), InternalRow(i))).copy(),
          textRow(1000),
          map.name
        )
      }
      val sent = given0.chunks(rows(Seq(1L), 5))
      assert(sent.map(_._1) == Seq(Seq(1L)) && sent.head._2 < 2000)
      given0.access.keys.slotOf(keyRow(1))
      given0.exchanges.foreach { exchange =>
        var pages = 0
        var more = true
        while (more) {
          val frame = new FrameBuilder(WorkerFrame.Fetched)
          more = exchange.fetchPage(1, 0, frame)
          assert(frame.size < 2 * bound)
          pages += 1
        }
        assert(pages >= 5)
      }
    }
  }

  test("timers with much state are sent in rounds within the bound, and none is lost") {
    withStore(value) { (store, given0) =>
      (0L until 100L).foreach { k =>
        store.put(keyRow(k), textRow(900), value.name)
        store.put(
          new TimeOrderedRows(key, "expiryTimestampMs", "key").key(k / 4, keyRow(k)),
          new TimeOrderedRows(key, "a", "b").empty,
          Timers.family(Timers.EventTime)
        )
      }
      val feed = given0.feed(Iterator.empty)
      val fired = mutable.ArrayBuffer.empty[(Long, Long)]
      var round = given0.timers.take(Timers.EventTime, 1000, 1000)
      while (!round.isEmpty) {
        val (frame, _, sent) = feed.timers(round, (1000L, 0L))
        assert(frame.size <= most)
        given0.timers.giveBack(round, sent.timers.length)
        // None that is left behind is due at or before that time.
        assert(given0.timers.earliest(Timers.EventTime).forall(_ > sent.through))
        fired ++= sent.timers.map { case (time, of) => time -> of.getLong(0) }
        feed.endEpoch()
        round = given0.timers.take(Timers.EventTime, 1000, 1000)
      }
      assert(fired.sorted == (0L until 100L).map(k => k / 4 -> k))
      assert(given0.counts.timersFired == 100)
      feed.writers.foreach(_.close())
    }
  }

  test("late rows count as well: they are kept until the chunk is sent") {
    withStore() { (_, given0) =>
      var diverted = 0
      val feed = given0.feed(rows(Seq.fill(500)(1L), 1500).iterator, new LateRule(_ => true, _ => diverted += 1))
      feed.next(RowLimit.None): Unit
      assert(diverted > 0 && diverted <= 1 + bound / 1500 && feed.taken == diverted)
      feed.writers.foreach(_.close())
    }
  }

  test("a row or a value above every bound is an error that names it") {
    withStore(value) { (store, given0) =>
      val large = (WorkerLimits.MostBytes + 1000).toInt
      val row = intercept[StateTooLarge](given0.chunks(Seq(toRow(InternalRow(
        1L,
        UTF8String.fromBytes(new Array[Byte](large))
      )))))
      assert(row.getMessage.contains("column text") && row.getMessage.contains(WorkerLimits.MostBytes.toString))
    }
  }
}
