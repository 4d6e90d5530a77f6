package io.snapline.spark.coordinator

import org.scalatest.funsuite.AnyFunSuite

class RequestBoardSpec extends AnyFunSuite {
  test("who asked hears what became of it, and nothing while it waits") {
    val board = new RequestBoard
    board.completed(1, 7)
    board.failed(2, "CHECKPOINT_EXPIRED: late")
    val refused = board.refused("no batch")
    assert(board.outcome(1) == "completed 7")
    assert(board.outcome(2) == "failed CHECKPOINT_EXPIRED: late")
    assert(refused < 0 && board.outcome(refused) == "failed no batch")
    assert(board.outcome(3) == "")
  }

  test("it remembers the last thousand") {
    val board = new RequestBoard
    (1L to 1500L).foreach(board.completed(_, 1))
    assert(board.outcome(500) == "" && board.outcome(501) == "completed 1" && board.outcome(1500) == "completed 1")
  }
}
