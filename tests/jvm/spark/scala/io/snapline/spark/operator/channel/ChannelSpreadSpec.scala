package io.snapline.spark.operator.channel

import java.io.File
import java.nio.file.Files
import java.util.{Arrays, UUID}

import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.IncompatibleState
import io.snapline.spark.operator.OperatorStore
import io.snapline.spark.provider.{StateFamilies, StateFamily}
import io.snapline.state.heap.{HeapBackend, HeapMemory, HeapSettings}
import io.snapline.state.{ColumnFamily, LocalFolder}

/** Rows of random partitions and micro-batches, spread over others: each is where its key goes, in its batch, behind
  * the rows of its key that came before.
  */
class ChannelSpreadSpec extends AnyFunSuite {
  private val columns = new StructType().add("text", StringType).add("key", LongType).add("number", LongType)
  private val schema = RowSchema(columns, Some(Seq(1)))
  private val seed = sys.env.get("SNAPLINE_SEED").fold(System.nanoTime % 1000000)(_.toLong)

  private val toRow = UnsafeProjection.create(columns)

  private def row(key: Long, number: Long, length: Int): UnsafeRow =
    toRow(InternalRow(UTF8String.fromString("x" * length), key, number))

  /** Stands for Spark's hash. */
  private def place(key: Long, partitions: Int): Int = (key % partitions).toInt

  private def placeOf(partitions: Int)(rows: RowSchema): UnsafeRow => Int = {
    val ordinal = rows.key.get.head
    row => place(row.getLong(ordinal), partitions)
  }

  private def codec: StateFamily = {
    val id = StateStoreId("nowhere", 0, 0)
    val families = new StateFamilies(id, UUID.randomUUID(), new StateStoreConf(new SQLConf), 65536, None)
    val spec = NoPrefixKeyStateEncoderSpec(ChannelState.Key)
    families.declare(ChannelState.Family, ChannelState.Key, ChannelState.Value, spec, multi = false, internal = true)
  }

  private def withStore(body: StateStore => Unit): Unit = {
    val key = new StructType().add("k", LongType)
    OperatorStore.using(key, NoPrefixKeyStateEncoderSpec(key))(body)
  }

  /** The channel of a partition as a store keeps it. */
  private def kept(folder: File, rows: RowSchema = schema)(fill: ChannelState => Unit): ColumnFamily = {
    val backend = new HeapBackend(folder, false, HeapSettings(), new HeapMemory(0))
    backend.beginChanges((_, _, _, _) => ())
    val family = backend.createFamily(ChannelState.Family, keyGroups = false, multi = false, internal = true)
    val as = codec
    withStore { store =>
      fill(ChannelState.of(store, rows))
      val entries = store.iterator(ChannelState.Family)
      entries.foreach { entry =>
        as.encodeKey(entry.key)
        as.encodeValue(entry.value)
        family.put(as.key.copy, as.value.copy)
      }
      entries.close()
    }
    family
  }

  private def add(channel: ChannelState, segment: Segment, rows: Seq[(Long, Long, Int)]): Unit = {
    val out = channel.append(segment)
    rows.foreach { case (key, number, length) => out.add(row(key, number, length)) }
    out.close()
  }

  /** Key and number of the rows of each segment, read as a task does. */
  private def read(spread: ChannelSpread, target: Int): Seq[(Segment, Seq[(Long, Long)])] = {
    var found = Seq.empty[(Segment, Seq[(Long, Long)])]
    val as = codec
    var last: Array[Byte] = null
    withStore { store =>
      store.createColFamilyIfAbsent(
        ChannelState.Family,
        ChannelState.Key,
        ChannelState.Value,
        NoPrefixKeyStateEncoderSpec(ChannelState.Key),
        false,
        true
      )
      spread.write(target) { (key, value) =>
        assert(last == null || Arrays.compareUnsigned(last, key) < 0, "a builder takes keys in their order")
        last = key
        store.put(as.decodeKey(key), as.decodeValue(key, value), ChannelState.Family)
      }
      val channel = ChannelState.of(store, schema)
      found = channel.segments.map(segment =>
        segment -> channel.read(segment).map(row => (row.getLong(1), row.getLong(2))).toList
      )
      // It goes on like any other.
      add(channel, Segment(1000, 0, None), Seq((1L, 1L, 1)))
      assert(channel.rowCount == found.map(_._2.size).sum + 1)
    }
    found
  }

  private def withFolder(body: File => Unit): Unit = {
    val folder = Files.createTempDirectory("snapline-spread").toFile
    try body(folder)
    finally LocalFolder.delete(folder)
  }

  for ((before, after) <- Seq((1, 3), (3, 1), (4, 8), (8, 4), (3, 5)))
    test(s"rows go from $before partitions to $after")(withFolder { folder =>
      val random = new Random(seed + before * 10 + after)
      var number = 0L
      // Of each partition, from the batch on that it has come to, with rows that were processed of its first segment.
      val waiting = (0 until before).map { partition =>
        (random.nextInt(3) until 4).map { batch =>
          val keys = (0L until 40).filter(place(_, before) == partition)
          val rows = Seq.fill(if (random.nextInt(4) == 0) 0 else random.nextInt(3000)) {
            number += 1
            (keys(random.nextInt(keys.size)), number, random.nextInt(300))
          }
          Segment(batch.toLong, batch * 1000L, Some(batch * 10L)) -> rows
        }
      }
      val done = waiting.map(segments => if (segments.head._2.isEmpty) 0 else random.nextInt(segments.head._2.size))
      val channels = waiting.indices.map { i =>
        kept(new File(folder, s"db-$i")) { channel =>
          waiting(i).foreach { case (segment, rows) => add(channel, segment, rows) }
          if (done(i) > 0) channel.advance(waiting(i).head._1, done(i).toLong)
        }
      }
      val left = waiting.zip(done).map { case (segments, gone) =>
        (segments.head._1 -> segments.head._2.drop(gone)) +: segments.tail
      }
      val batches = left.flatten.map(_._1).distinct.sortBy(_.batch)
      // A task may write some of the new partitions only.
      val wanted = (0 until after).filter(_ => after == 1 || random.nextInt(4) > 0)
      val spread = new ChannelSpread(codec, wanted, new File(folder, "scratch"))
      try {
        channels.zipWithIndex.foreach { case (channel, i) => spread.add(channel, s"partition $i", placeOf(after)) }
        wanted.foreach { target =>
          val found = read(spread, target)
          assert(found.map(_._1) == batches, s"seed $seed")
          found.foreach { case (segment, rows) =>
            val expected = left.flatten.filter(_._1 == segment).flatMap(_._2).filter(r => place(r._1, after) == target)
            assert(rows == expected.map { case (key, number, _) => key -> number }, s"seed $seed, $segment")
          }
        }
      } finally spread.close()
      assert(!new File(folder, "scratch").exists)
    })

  test("where nothing waits there is no channel")(withFolder { folder =>
    val spread = new ChannelSpread(codec, Seq(0), new File(folder, "scratch"))
    try {
      assert(spread.descriptor.isEmpty)
      val empty = kept(new File(folder, "db")) { channel =>
        add(channel, Segment(1, 2, None), Seq((1L, 1L, 1)))
        channel.finished(Segment(1, 2, None))
      }
      spread.add(empty, "partition 0", placeOf(1))
      assert(spread.descriptor.isEmpty)
    } finally spread.close()
  })

  test("a batch that two partitions remember in different ways is refused")(withFolder { folder =>
    val spread = new ChannelSpread(codec, Seq(0), new File(folder, "scratch"))
    try {
      spread.add(kept(new File(folder, "0"))(add(_, Segment(1, 2, None), Nil)), "partition 0", placeOf(1))
      val other = kept(new File(folder, "1"))(add(_, Segment(1, 3, None), Nil))
      val e = intercept[IncompatibleState](spread.add(other, "partition 1", placeOf(1)))
      assert(e.getMessage.contains("partition 1"))
    } finally spread.close()
  })
}
