package io.snapline.spark.operator.task

import scala.collection.mutable
import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import io.snapline.spark.operator.state.EpochKeys

class RowSlotsSpec extends AnyFunSuite {

  /** The key is the second of two columns. */
  private def slots(kind: DataType, keys: EpochKeys): RowSlots = {
    val keyOf = UnsafeProjection.create(Seq(BoundReference(1, kind, nullable = true)))
    RowSlots.of(new StructType().add("k", kind), Seq(1), keyOf(_), keys)
  }

  private val kinds: Seq[(DataType, Long => Any)] = Seq(
    LongType -> (n => n),
    TimestampType -> (n => n * 1000000),
    IntegerType -> (n => n.toInt),
    DateType -> (n => -n.toInt),
    StringType -> (n => UTF8String.fromString(s"key $n")),
    DoubleType -> (n => n / 4d)
  )

  for ((kind, valueOf) <- kinds)
    test(s"${kind.sql}: a slot is that of the key's row, null among them, in epochs of any size") {
      val random = new Random(3)
      val keys = new EpochKeys
      val of = slots(kind, keys)
      // The third is more than is remembered.
      for (most <- Seq(3, 20000, 300000, 50)) {
        val model = mutable.LinkedHashMap.empty[Option[Long], Int]
        (0 until most + most / 2).foreach { _ =>
          val key = Some(random.nextLong(most.toLong) - most / 2).filterNot(_ == 1)
          val row = InternalRow(random.nextLong(), key.fold[Any](null)(valueOf))
          assert(of.slotOf(row) == model.getOrElseUpdate(key, model.size))
        }
        assert(keys.size == model.size)
        keys.clear()
        of.clear()
      }
    }

  test("numbers that share their low bits, or their high ones, do not share a slot") {
    val keys = new EpochKeys
    val of = slots(LongType, keys)
    val numbers = (0 until 64).flatMap(i => Seq(1L << i, -(1L << i), Long.MaxValue - (1L << i))) ++ (1L to 5000L).map(
      _ << 40
    )
    val distinct = numbers.distinct
    distinct.zipWithIndex.foreach { case (n, i) => assert(of.slotOf(InternalRow(0L, n)) == i) }
    distinct.zipWithIndex.foreach { case (n, i) => assert(of.slotOf(InternalRow(0L, n)) == i) }
  }

  test("a key that timers have brought is found, and the other way round") {
    val keys = new EpochKeys
    val of = slots(LongType, keys)
    val toKey = UnsafeProjection.create(Array[DataType](LongType))
    assert(keys.slotOf(toKey(InternalRow(7L))) == 0)
    assert(of.slotOf(InternalRow(0L, 8L)) == 1)
    assert(of.slotOf(InternalRow(0L, 7L)) == 0)
    assert(keys.slotOf(toKey(InternalRow(8L))) == 1)
  }
}
