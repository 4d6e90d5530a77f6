package io.snapline.spark.coordinator

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class BalanceSpec extends AnyFunSuite with ScalaCheckPropertyChecks {
  private val clusters = for {
    executors <- Gen.choose(1, 6)
    partitions <- Gen.choose(0, 40)
    where <- Gen.listOfN(partitions, Gen.option(Gen.choose(0, executors - 1)))
  } yield (where.map(_.map(_.toString)), (0 until executors).map(_.toString).toSet)

  private def sizes(where: Seq[Option[String]], executors: Set[String]): Seq[Int] =
    executors.toSeq.map(executor => where.count(_.contains(executor)))

  test("executors differ by one partition at most afterwards, and then there are no moves") {
    forAll(clusters) { case (before, executors) =>
      val moves = Balance.moves(before, executors)
      assert(moves.map(_._1).distinct.size == moves.size, "a partition moves once")
      assert(before.indices.filter(before(_).isEmpty).toSet.subsetOf(moves.map(_._1).toSet), "all have a place")
      val where = moves.foldLeft(before) { case (now, (partition, to)) => now.updated(partition, Some(to)) }
      assert(sizes(where, executors).max - sizes(where, executors).min <= 1)
      assert(Balance.moves(where, executors).isEmpty)
    }
  }

  test("no more partitions move than have to") {
    forAll(clusters.map { case (where, executors) => (where.filter(_.isDefined), executors) }) {
      case (before, executors) =>
        // Those that some executor has above its share, rounded up for as many as can have one more.
        val (share, more) = (before.size / executors.size, before.size % executors.size)
        val descending = sizes(before, executors).sorted.reverse
        val least = descending.zipWithIndex.map { case (size, rank) =>
          (size - share - (if (rank < more) 1 else 0)).max(0)
        }.sum
        assert(Balance.moves(before, executors).size == least)
    }
  }

  test("a new executor takes from those that have most") {
    val where = Seq("a", "a", "a", "a", "b", "b", "b").map(Option(_))
    assert(Balance.moves(where, Set("a", "b", "new")) == Seq(0 -> "new", 4 -> "new"))
    assert(Balance.moves(where, Set("a", "b")).isEmpty)
  }

  test("what was on an executor that is gone goes to those that have fewest") {
    val where = Seq(Some("a"), None, Some("b"), None, Some("a"), None)
    assert(Balance.moves(where, Set("a", "b")) == Seq(1 -> "b", 3 -> "a", 5 -> "b"))
  }
}
