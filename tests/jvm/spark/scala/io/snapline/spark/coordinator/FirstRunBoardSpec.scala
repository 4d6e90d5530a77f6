package io.snapline.spark.coordinator

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.spark.protocol.FirstRun

class FirstRunBoardSpec extends AnyFunSuite {

  private def asked(task: Long, partition: Int = 0, batch: Long = 4, run: String = "r"): FirstRun =
    FirstRun(run, 0, batch, partition, task)

  test("each partition of each operator has one first run, which may ask again") {
    val board = new FirstRunBoard
    assert(board.isFirst(asked(7)) && board.isFirst(asked(7)))
    assert(!board.isFirst(asked(8)))
    assert(board.isFirst(asked(8, partition = 1)))
    assert(board.isFirst(asked(9).copy(operator = 1)))
    assert(board.isFirst(asked(7)))
  }

  test("a micro-batch begins anew, and no task of one before it is the first") {
    val board = new FirstRunBoard
    assert(board.isFirst(asked(7)))
    assert(board.isFirst(asked(8, batch = 5)))
    assert(!board.isFirst(asked(7)) && !board.isFirst(asked(9, partition = 1)))
    assert(!board.isFirst(asked(9, batch = 5)))
  }

  test("the next run of a query begins with whatever micro-batch it comes to") {
    val board = new FirstRunBoard
    assert(board.isFirst(asked(7)))
    assert(board.isFirst(asked(8, batch = 2, run = "other")))
    assert(!board.isFirst(asked(9, batch = 2, run = "other")))
  }
}
