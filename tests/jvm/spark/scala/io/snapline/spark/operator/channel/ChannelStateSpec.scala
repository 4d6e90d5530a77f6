package io.snapline.spark.operator.channel

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.state.{NoPrefixKeyStateEncoderSpec, StateStore}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.{CheckpointDamaged, IncompatibleState}
import io.snapline.spark.operator.OperatorStore
import io.snapline.spark.provider.SnaplineStateStore

class ChannelStateSpec extends AnyFunSuite {
  private val key = new StructType().add("k", LongType)
  private val input = new StructType().add("k", LongType).add("text", StringType)
  private val first = Segment(3, 1000, Some(5), Some(4))
  private val second = Segment(4, 2000, None)

  private def row(i: Int): UnsafeRow =
    UnsafeProjection.create(input).apply(InternalRow(i.toLong, UTF8String.fromString("x" * (i % 500)))).copy()

  private def add(channel: ChannelState, segment: Segment, rows: Range): Unit = {
    val out = channel.append(segment)
    rows.foreach(i => out.add(row(i)))
    out.close()
  }

  private def numbers(channel: ChannelState, segment: Segment): Seq[Int] =
    channel.read(segment).map(_.getLong(0).toInt).toList

  private def withStore(body: StateStore => Unit): Unit =
    OperatorStore.using(key, NoPrefixKeyStateEncoderSpec(key))(body)

  private def of(store: StateStore, schema: StructType = input): ChannelState =
    ChannelState.of(store, RowSchema(schema, None))

  test("a store that never had channel state has no family of it") {
    withStore { store =>
      assert(of(store).segments.isEmpty)
      assert(!store.asInstanceOf[SnaplineStateStore].holds(ChannelState.Family))
    }
  }

  test("segments come back in order, over many blocks, and go row by row and whole") {
    withStore { store =>
      add(of(store), first, 0 until 5000)
      add(of(store), second, 0 until 0)
      val channel = of(store)
      assert(channel.segments == Seq(first, second))
      assert(channel.rowCount == 5000 && channel.bytes > 1000000)
      assert(numbers(channel, first) == (0 until 5000))
      var gone = 0
      Seq(0, 1, 1023, 2976, 999).foreach { rows =>
        channel.advance(first, rows.toLong)
        gone += rows
        assert(numbers(of(store), first) == (gone until 5000), s"after $gone")
        assert(of(store).rowCount == 5000 - gone)
      }
      channel.finished(first)
      assert(of(store).segments == Seq(second))
      val again = of(store)
      again.finished(second)
      assert(store.iterator(ChannelState.Family).isEmpty)
    }
  }

  test("rows of an older schema are taken over where a state's would be, and else refused with what to do") {
    withStore { store =>
      add(of(store), first, 0 until 3)
      val wider = new StructType().add("text", StringType).add("k", LongType).add("more", IntegerType)
      val channel = of(store, wider)
      assert(channel.read(first).map(r => (r.getLong(1), r.isNullAt(2))).toList ==
        Seq((0L, true), (1L, true), (2L, true)))
      val other = of(store, new StructType().add("k", StringType))
      val refused = intercept[IncompatibleState](other.read(first))
      assert(refused.found.contains("row.k") && refused.action.contains("numChannelRows"))
    }
  }

  test("an index and a block that cannot be read are damage") {
    withStore { store =>
      add(of(store), first, 0 until 3)
      val toKey = UnsafeProjection.create(ChannelState.Key)
      val toValue = UnsafeProjection.create(ChannelState.Value)
      val block = store.get(toKey(InternalRow(1L)), ChannelState.Family).getBinary(0)
      store.put(toKey(InternalRow(1L)), toValue(InternalRow(block.dropRight(1))), ChannelState.Family)
      intercept[CheckpointDamaged](of(store).read(first).foreach(_ => ())): Unit
      Seq("", "{}", "[]", """{"next_block":1,"schemas":{},"segments":[{"batch":1}]}""").foreach { text =>
        store.put(toKey(InternalRow(0L)), toValue(InternalRow(text.getBytes)), ChannelState.Family)
        intercept[CheckpointDamaged](of(store)): Unit
      }
    }
  }
}
