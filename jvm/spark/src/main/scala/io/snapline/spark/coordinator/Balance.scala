package io.snapline.spark.coordinator

import scala.collection.mutable

/** Partitions that go to executors with fewer of them.
  *
  * A batch loads what was moved before it, so that each executor takes as many at a time as it has cores. Stores of an
  * executor that is gone have to be loaded anyway.
  */
private[coordinator] object Balance {

  /** @param where
    *   the live executor of each partition; None: its executor is gone
    * @param cores
    *   the live executors, and how many partitions each takes at once
    * @return
    *   partitions and their new executors; empty: no executor has two more than another one
    */
  def moves(where: Seq[Option[String]], cores: Map[String, Int]): Seq[(Int, String)] = {
    val held = mutable.Map.from(cores.keys.map(_ -> mutable.Queue.empty[Int]))
    for ((executor, partition) <- where.zipWithIndex; live <- executor) held(live).enqueue(partition)
    val free = mutable.Map.from(cores)
    val moved = Seq.newBuilder[(Int, String)]
    for ((None, partition) <- where.zipWithIndex) {
      val (executor, partitions) = held.minBy { case (executor, partitions) => (partitions.size, executor) }
      partitions.enqueue(partition)
      free(executor) -= 1
      moved += partition -> executor
    }
    var isDone = false
    while (!isDone) {
      val most = held.toSeq.maxBy { case (executor, partitions) => (partitions.size, executor) }._1
      val takers = held.keys.filter(free(_) > 0)
      val least = takers.minByOption(executor => (held(executor).size, executor))
      least.filter(held(_).size + 1 < held(most).size) match {
        case Some(taker) =>
          // Partitions that were moved stand at the end, and stay.
          val partition = held(most).dequeue()
          held(taker).enqueue(partition)
          free(taker) -= 1
          moved += partition -> taker
        case None => isDone = true
      }
    }
    moved.result()
  }
}
