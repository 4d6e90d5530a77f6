package io.snapline.spark.coordinator

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.spark.protocol.BroadcastReport

class BroadcastBoardSpec extends AnyFunSuite {

  private def report(partition: Int, hash: Long, version: Long = 4, run: String = "r"): BroadcastReport =
    BroadcastReport(run, 0, version, partition, Seq(("rules", 3L, hash), ("more", 1L, 7L)))

  test("equal reports are equal in any number; the first that differs is named with all others") {
    val board = new BroadcastBoard
    assert(Seq(0, 1, 2).map(p => board.take(report(p, 10))) == Seq("", "", ""))
    val found = board.take(report(3, 11))
    assert(found == "'rules' (partition 0, 1, 2: 3 entries, checksum 000000000000000a; " +
      "partition 3: 3 entries, checksum 000000000000000b)")
    // Nobody knows which is right, so a right one that comes later fails as well.
    assert(board.take(report(4, 10)).nonEmpty)
  }

  test("a task that is run again replaces its report") {
    val board = new BroadcastBoard
    board.take(report(0, 10))
    assert(board.take(report(0, 11)) == "")
    assert(board.take(report(1, 11)) == "")
  }

  test("micro-batches, operators and runs are compared among themselves") {
    val board = new BroadcastBoard
    board.take(report(0, 10))
    assert(board.take(report(1, 11, version = 5)) == "")
    assert(board.take(report(1, 11, run = "other")) == "")
    assert(board.take(report(1, 11).copy(operator = 1)) == "")
  }
}
