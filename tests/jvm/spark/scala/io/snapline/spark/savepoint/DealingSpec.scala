package io.snapline.spark.savepoint

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

class DealingSpec extends AnyFunSuite {

  /** As Flink's loop hands out stretches of the whole. */
  private def dealt(lists: Seq[Seq[Int]], to: Int, start: Int): (Map[Int, Seq[Int]], Int) = {
    val elements = lists.flatten.iterator
    val total = lists.map(_.size).sum
    val turns = (0 until to).map { turn =>
      val take = total / to + (if (turn < total % to) 1 else 0)
      ((start + turn) % to, Seq.fill(take)(elements.next()))
    }
    (turns.toMap, (start + total % to) % to)
  }

  private def placed(dealing: Dealing, lists: Seq[Seq[Int]]): Map[Int, Seq[Int]] = {
    val places = for {
      (list, partition) <- lists.zipWithIndex
      (element, position) <- list.zipWithIndex
      (target, at) <- dealing.places(partition, position.toLong)
    } yield (target, at, element)
    (0 until dealing.to).map { target =>
      val found = places.filter(_._1 == target).sortBy(_._2)
      assert(found.map(_._2) == found.indices.map(_.toLong), "positions are from 0, each once")
      target -> found.map(_._3)
    }.toMap
  }

  test("elements go where Flink's algorithm puts them, whatever their numbers") {
    val random = new Random(9)
    (0 until 500).foreach { _ =>
      val (from, to) = (1 + random.nextInt(7), 1 + random.nextInt(7))
      val start = random.nextInt(to)
      val lists = Seq.fill(from)(Seq.fill(random.nextInt(6))(random.nextInt(1000)))
      val counts = lists.indices.filter(lists(_).nonEmpty).map(p => p -> lists(p).size.toLong).toMap
      val split = Dealing(union = false, counts, from, to, start)
      if (from == to) {
        assert(placed(split, lists) == lists.indices.map(p => p -> lists(p)).toMap)
        assert(split.nextStart == start)
      } else assert((placed(split, lists), split.nextStart) == dealt(lists, to, start))
      val union = Dealing(union = true, counts, from, to, start)
      assert(placed(union, lists) == (0 until to).map(_ -> lists.flatten).toMap)
      assert(union.nextStart == start)
    }
  }
}
