package io.snapline.spark.operator.task

import scala.concurrent.{Await, Future}
import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{DataType, LongType, StringType}
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

class LiveRowsSpec extends AnyFunSuite {
  private val number = UnsafeProjection.create(Array[DataType](LongType))
  private val text = UnsafeProjection.create(Array[DataType](StringType))

  private def row(n: Long): UnsafeRow = number(InternalRow(n)).copy()

  test("rows are there as soon as they were brought, in their order, until the end") {
    val rows = new LiveRows(10, 1000)
    assert(!rows.isReady && !rows.isOver)
    rows.put(row(1))
    rows.put(row(2))
    assert(rows.isReady && rows.next().getLong(0) == 1)
    rows.put(row(3))
    rows.end(null)
    assert(!rows.isOver && rows.map(_.getLong(0)).toList == Seq(2, 3))
    assert(rows.isOver && !rows.hasNext)
    assertThrows[NoSuchElementException](rows.next())
  }

  test("the taker waits for a row, but not longer than it says") {
    val rows = new LiveRows(10, 1000)
    val began = System.nanoTime
    rows.await(20000000)
    assert(System.nanoTime - began >= 20000000 && !rows.isReady)
    val brings = Future {
      Thread.sleep(20)
      rows.put(row(7))
    }
    assert(rows.hasNext && rows.next().getLong(0) == 7)
    Await.result(brings, 10.seconds)
  }

  test("no more rows wait than there is room for: by number, and by bytes") {
    val large = text(InternalRow(UTF8String.fromString("x" * 600))).copy()
    Seq(new LiveRows(2, 1000000) -> row(1), new LiveRows(100, 1000) -> large).foreach { case (rows, each) =>
      @volatile var brought = 0
      val brings = Future((1 to 10).foreach { _ =>
        rows.put(each)
        brought += 1
      })
      (1 to 10).foreach { taken =>
        Thread.sleep(5)
        // Those that are taken over in one go are the taker's, and as many wait again.
        assert(brought <= taken + 4)
        rows.next(): Unit
      }
      Await.result(brings, 10.seconds)
    }
  }

  test("a failure of the reader comes after the rows that it brought") {
    val rows = new LiveRows(10, 1000)
    rows.put(row(1))
    rows.end(new IllegalStateException("gone"))
    assert(rows.next().getLong(0) == 1)
    assert(intercept[IllegalStateException](rows.hasNext).getMessage == "gone")
  }
}
