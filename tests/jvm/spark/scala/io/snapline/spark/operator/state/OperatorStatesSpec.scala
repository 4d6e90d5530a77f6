package io.snapline.spark.operator.state

import scala.util.Random

import org.apache.arrow.memory.RootAllocator
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.spark.operator.frames.{WorkerFrame, FrameBuilder}
import io.snapline.spark.operator.OperatorStore
import io.snapline.spark.operator.task.TaskSetup
import org.apache.spark.sql.execution.python.snapline.ArrowSchemas

/** Operator states in a real store, with frames made as a worker makes them. */
class OperatorStatesSpec extends AnyFunSuite {
  private val list = OperatorStateSpec("list", OperatorStateSpec.Split, None, LongType)
  private val map = OperatorStateSpec("map", OperatorStateSpec.Broadcast, Some(LongType), LongType)
  private val schemaOf = ArrowSchemas.of("UTC") _

  private final class Partition(store: StateStore) {
    private val allocator = new RootAllocator
    Seq(OperatorMark.columnFamily, list.columnFamily, map.columnFamily).foreach(_.createIn(store))
    private val counts = new ChangeCounts
    private val access =
      new StateAccess(store, TaskSetup.subtask, new EpochKeys, allocator, schemaOf, 1, counts)
    private val states = new OperatorStates(Seq(list, map), access)
    private val entries = new StructType().add("k", LongType).add("v", LongType)
    private val readers = Seq(0, 1).map(i => access.reader(WorkerFrame.operatorPart(i), entries))

    /** What the worker gets. */
    def sent(): Seq[Seq[(Long, Long)]] = {
      val found = Seq.fill(2)(Seq.newBuilder[(Long, Long)])
      while (states.hasFrames) {
        val frame = arrived(states.next()._1)
        (0 until frame.parts).foreach { part =>
          val i = frame.id(part) - WorkerFrame.operatorPart(0)
          val batch = readers(i).read(frame, part)
          (0 until batch.numRows()).foreach { row =>
            found(i) += batch.getRow(row).getLong(0) -> batch.getRow(row).getLong(1)
          }
        }
      }
      found.map(_.result())
    }

    def change(state: Int, changes: Seq[(Int, Long, Long)]): Unit = {
      val frame = new FrameBuilder(WorkerFrame.Changes)
      val part = access.writer(WorkerFrame.operatorChangesPart(state), writerSchema)
      changes.foreach { case (op, key, value) => part.write(InternalRow(op.toByte, key, value)) }
      part.flush(frame)
      part.close()
      states.change(arrived(frame), 0)
    }

    private def writerSchema: StructType =
      new StructType().add("op", ByteType, nullable = false).add("k", LongType).add("v", LongType)

    def sum: EntrySum = states.entrySums.find(_._1 == "map").get._2
    def updated: Long = counts.updated

    def close(): Unit = {
      states.close()
      readers.foreach(_.close())
      allocator.close()
    }

    private def arrived(frame: FrameBuilder): WorkerFrame =
      WorkerFrame.read(frame.build().flatMap { b =>
        val copy = new Array[Byte](b.remaining())
        b.get(copy)
        copy
      }.drop(4))
  }

  private def withStore(body: SnaplineStores => Unit): Unit =
    OperatorStore.withProvider(TaskSetup.subtask, NoPrefixKeyStateEncoderSpec(TaskSetup.subtask)) { provider =>
      body(new SnaplineStores(provider))
    }

  private final class SnaplineStores(provider: StateStoreProvider) {
    def batch[T](version: Long)(body: Partition => T): T = {
      val store = provider.getStore(version)
      val partition = new Partition(store)
      try {
        val found = body(partition)
        store.commit()
        found
      } finally {
        partition.close()
        if (!store.hasCommitted) store.abort()
      }
    }
  }

  test("what is stored comes back in order, in frames of bounded size, and what did not change is not written") {
    withStore { stores =>
      stores.batch(0) { partition =>
        assert(partition.sent() == Seq(Nil, Nil))
        partition.change(0, (0L until 25000L).map(i => (0, i, i * 7)))
        partition.change(1, Seq((0, 300L, 3L), (0, 2L, 2L)))
        assert(partition.updated == 25002)
      }
      stores.batch(1) { partition =>
        val sent = partition.sent()
        assert(sent.head == (0L until 25000L).map(i => i -> i * 7))
        assert(sent(1).toMap == Map(300L -> 3L, 2L -> 2L))
        partition.change(0, (0L until 3L).map(i => (0, i, i * 7)) :+ ((0, 3L, -1L)))
        partition.change(0, (10L until 25000L).map(i => (1, i, 0L)))
        assert(partition.updated == 1)
      }
      stores.batch(2) { partition =>
        assert(partition.sent().head.map(_._2) == Seq(0L, 7L, 14L, -1L, 28L, 35L, 42L, 49L, 56L, 63L))
      }
    }
  }

  test("the sum depends on the entries alone: not on their order, nor on how they came to be") {
    val random = new Random(3)
    withStore { stores =>
      val model = scala.collection.mutable.Map.empty[Long, Long]
      (0 until 8).foreach { version =>
        val sum = stores.batch(version.toLong) { partition =>
          partition.sent()
          (0 until 3).foreach { _ =>
            val changes = Seq.fill(random.nextInt(12)) {
              (if (random.nextInt(9) == 0) 2 else random.nextInt(2), random.nextInt(6).toLong, random.nextInt(4).toLong)
            }
            changes.foreach {
              case (0, key, value) => model(key) = value
              case (1, key, _) => model.remove(key)
              case _ => model.clear()
            }
            partition.change(1, changes)
          }
          partition.sum
        }
        assert(sum == of(random.shuffle(model.toSeq)))
        assert(model.isEmpty || sum != of((99L -> 1L) +: model.toSeq.tail))
      }
    }
    // Values that changed places make a difference.
    assert(of(Seq(1L -> 2L, 2L -> 1L)) != of(Seq(1L -> 1L, 2L -> 2L)))
  }

  private val row = UnsafeProjection.create(Array[DataType](LongType))

  private def of(entries: Seq[(Long, Long)]): EntrySum = entries.foldLeft(EntrySum.Empty) { case (sum, (key, value)) =>
    sum.add(row(InternalRow(key)).copy(), row(InternalRow(value)).copy())
  }
}
