package io.snapline.spark.coordinator

import org.scalatest.funsuite.AnyFunSuite

class RequestBoardSpec extends AnyFunSuite {
  test("who asked hears what became of it, and nothing while it waits") {
    val board = new RequestBoard
    board.completed(Seq(1), 7)
    board.failed(2, "CHECKPOINT_EXPIRED: late")
    val refused = board.refused("no batch")
    assert(board.outcome(1) == "completed 7")
    assert(board.outcome(2) == "failed CHECKPOINT_EXPIRED: late")
    assert(refused < 0 && board.outcome(refused) == "failed no batch")
    assert(board.outcome(3) == "")
  }

  test("it remembers the last thousand") {
    val board = new RequestBoard
    (1L to 1500L).foreach(request => board.completed(Seq(request), 1))
    assert(board.outcome(500) == "" && board.outcome(501) == "completed 1" && board.outcome(1500) == "completed 1")
  }

  test("a checkpoint that was lent is free when the last has given it back") {
    val board = new RequestBoard
    Seq(1L, 2L).foreach(board.borrows)
    assert(!board.completed(Seq(1, 2), 7))
    assert(board.givenBack(1).isEmpty && board.givenBack(1).isEmpty)
    assert(board.givenBack(2).contains(7L) && board.givenBack(2).isEmpty)
    assert(board.outcome(2) == "completed 7")
  }

  test("one that somebody else keeps stays") {
    val board = new RequestBoard
    board.borrows(1)
    assert(!board.completed(Seq(1, 2), 7))
    assert(board.givenBack(1).isEmpty && board.givenBack(2).isEmpty)
  }

  test("who waits no longer needs none") {
    val board = new RequestBoard
    Seq(1L, 2L, 3L).foreach(board.borrows)
    assert(board.givenBack(1).isEmpty)
    assert(board.completed(Seq(1), 7), "nobody needs it")
    assert(board.givenBack(2).isEmpty)
    assert(!board.completed(Seq(2, 3), 8))
    assert(board.givenBack(3).contains(8L))
    board.borrows(4)
    board.failed(4, "late")
    assert(board.givenBack(4).isEmpty && !board.completed(Seq(4), 9))
  }
}
