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
    board.completed(Seq(1, 2), 7)
    (0 until 2).foreach(_ => board.givenBack(1))
    assert(board.free.isEmpty)
    (0 until 2).foreach(_ => board.givenBack(2))
    assert(board.free == Seq(7L))
    assert(board.outcome(2) == "completed 7")
    board.found(Set(6, 7))
    assert(board.free == Seq(7L), "its deletion has not come through")
    board.found(Set(6))
    assert(board.free.isEmpty)
  }

  test("one that somebody else keeps stays") {
    val board = new RequestBoard
    board.borrows(1)
    board.completed(Seq(1, 2), 7)
    Seq(1L, 2L).foreach(board.givenBack)
    assert(board.free.isEmpty)
  }

  test("who waits no longer needs none") {
    val board = new RequestBoard
    Seq(1L, 2L, 3L).foreach(board.borrows)
    board.givenBack(1)
    assert(board.free.isEmpty)
    board.completed(Seq(1), 7)
    assert(board.free == Seq(7L), "nobody needs it")
    board.givenBack(2)
    board.completed(Seq(2, 3), 8)
    assert(board.free == Seq(7L))
    board.givenBack(3)
    assert(board.free == Seq(7L, 8L))
    board.borrows(4)
    board.failed(4, "late")
    board.givenBack(4)
    board.completed(Seq(4), 9)
    assert(board.free == Seq(7L, 8L))
  }
}
