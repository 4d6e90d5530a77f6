package io.snapline.spark.operator.channel

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.types.{DataType, LongType}
import org.scalatest.funsuite.AnyFunSuite

class TimeBudgetSpec extends AnyFunSuite {
  private var now = 0L
  private def budget(ms: Long, stopsWithin: Boolean = false) = new TimeBudget(ms, stopsWithin, () => now)

  /** Plays a worker that takes the same time for each row, with one chunk under way; rows processed and the time it
    * took, ms.
    */
  private def work(budget: TimeBudget, nanosPerRow: Long, atMost: Int): (Long, Double) = {
    val began = now
    var rows = 0L
    var chunk = budget.next(atMost)
    // A task asks whether it may go on before it asks how far.
    while (budget.next(1) > 0 && chunk > 0) {
      budget.sent(chunk)
      now += chunk * nanosPerRow
      budget.through(0)
      rows += chunk
      chunk = budget.next(atMost)
    }
    (rows, (now - began) / 1e6)
  }

  test("quick rows get chunks of full size, and the time is used") {
    val (rows, took) = work(budget(1000), 1000, 10000)
    assert(rows > 900000 && took > 900 && took <= 1001)
  }

  test("chunks grow to their full size whatever is asked between") {
    val quick = budget(1000)
    val sizes = Seq.fill(8) {
      assert(quick.next(1) == 1)
      val chunk = quick.next(10000)
      quick.sent(chunk)
      now += chunk * 1000L
      quick.through(0)
      chunk
    }
    assert(sizes == Seq(4, 4, 16, 64, 256, 1024, 4096, 10000))
  }

  test("rows that take longer than was thought end it late by a sixteenth at most") {
    val (rows, took) = work(budget(1000), 10000000, 10000)
    assert(rows >= 90 && took <= 1000 + 1000 / 16.0)
  }

  test("a row that takes longer than all the time is processed, and no other chunk") {
    val slow = budget(10)
    assert(!slow.isOver)
    val (rows, _) = work(slow, 1000000000L, 10000)
    assert(rows > 0 && rows < 10)
    assert(slow.isOver)
  }

  test("what is under way counts before it is through") {
    val one = budget(140)
    Seq.fill(2) {
      one.sent(one.next(10000))
      now += 4 * 10000000L
      one.through(0)
    }
    val third = one.next(10000)
    one.sent(third)
    // 60 ms are left, at 10 ms a row.
    assert(third > 0 && third + one.next(10000) <= 6)
  }

  test("frames without rows are no progress") {
    val empty = budget(10)
    empty.sent(0)
    now += 20000000L
    empty.through(0)
    assert(!empty.isOver && empty.next(10000) > 0)
  }

  test("a worker that stops within a chunk gets all at once, and what it leaves comes back in order") {
    val row = UnsafeProjection.create(Array[DataType](LongType))
    val timed = budget(100, stopsWithin = true)
    def send(atMost: Int, from: Long): Int = {
      val rows = timed.next(atMost)
      (from until from + rows).foreach(n => timed.took(row(InternalRow(n))))
      timed.sent(rows)
      rows
    }
    assert(timed.timeLeftMs.contains(100L) && budget(100).timeLeftMs.isEmpty)
    val first = send(1024, 0)
    assert(first == 1024)
    now += 40000000L
    val second = send(300, first.toLong)
    assert(second == 300 && timed.timeLeftMs.contains(60L))
    now += 70000000L
    timed.through(24)
    timed.through(300)
    assert(timed.isOver && timed.timeLeftMs.contains(0L) && timed.next(10000) == 0)
    assert(timed.returned.map(_.getLong(0)) == (1000L until 1324L))
  }
}
