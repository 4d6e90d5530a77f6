package io.snapline.spark.coordinator

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class BalanceSpec extends AnyFunSuite with ScalaCheckPropertyChecks {
  private val clusters = for {
    executors <- Gen.choose(1, 6)
    cores <- Gen.listOfN(executors, Gen.choose(1, 4))
    partitions <- Gen.choose(0, 40)
    where <- Gen.listOfN(partitions, Gen.option(Gen.choose(0, executors - 1)))
  } yield (where.map(_.map(_.toString)), cores.zipWithIndex.map { case (count, id) => id.toString -> count }.toMap)

  private def sizes(where: Seq[Option[String]], cores: Map[String, Int]): Iterable[Int] =
    cores.keys.toSeq.map(executor => where.count(_.contains(executor)))

  test("steps lead to executors that differ by one partition at most, and then there are none") {
    forAll(clusters) { case (before, cores) =>
      var where = before
      var moves = Balance.moves(where, cores)
      var steps = 0
      while (moves.nonEmpty) {
        assert(moves.map(_._1).distinct.size == moves.size, "a partition moves once in a step")
        val (lost, live) = moves.partition { case (partition, _) => where(partition).isEmpty }
        assert(lost.map(_._1) == where.indices.filter(where(_).isEmpty), "what has no place gets one at once")
        for ((executor, taken) <- live.groupBy(_._2)) assert(taken.size <= cores(executor))
        moves.foreach { case (partition, to) => where = where.updated(partition, Some(to)) }
        steps += 1
        assert(steps <= before.size + 1)
        moves = Balance.moves(where, cores)
      }
      assert(sizes(where, cores).max - sizes(where, cores).min <= 1)
    }
  }

  test("no more partitions move than have to") {
    forAll(clusters.map { case (where, cores) => (where.filter(_.isDefined), cores) }) { case (before, cores) =>
      val ample = cores.map { case (executor, _) => executor -> before.size.max(1) }
      val moved = Balance.moves(before, ample).size
      // Those that some executor has above its share, rounded up for as many as can have one more.
      val (share, more) = (before.size / cores.size, before.size % cores.size)
      val descending = sizes(before, cores).toSeq.sorted.reverse
      val least = descending.zipWithIndex.map { case (size, rank) =>
        (size - share - (if (rank < more) 1 else 0)).max(0)
      }.sum
      assert(moved == least)
    }
  }

  test("a new executor takes as many as it has cores, from those that have most") {
    val where = Seq("a", "a", "a", "a", "b", "b", "b").map(Option(_))
    assert(Balance.moves(where, Map("a" -> 2, "b" -> 2, "new" -> 2)) == Seq(0 -> "new", 4 -> "new"))
    assert(Balance.moves(where, Map("a" -> 2, "b" -> 2)).isEmpty)
  }

  test("what was on an executor that is gone goes to those that have fewest") {
    val where = Seq(Some("a"), None, Some("b"), None, Some("a"), None)
    assert(Balance.moves(where, Map("a" -> 1, "b" -> 1)) == Seq(1 -> "b", 3 -> "a", 5 -> "b"))
  }
}
