package io.snapline.spark.coordinator

import scala.collection.mutable

/** Partitions that go to executors with fewer of them. */
private[coordinator] object Balance {

  /** @param where
    *   the live executor of each partition; None: its executor is gone
    * @return
    *   partitions and their new executors: afterwards no executor has two more than another one
    */
  def moves(where: Seq[Option[String]], executors: Set[String]): Seq[(Int, String)] = {
    val held = mutable.Map.from(executors.map(_ -> mutable.Queue.empty[Int]))
    for ((executor, partition) <- where.zipWithIndex; live <- executor) held(live).enqueue(partition)
    def least: (String, mutable.Queue[Int]) =
      held.minBy { case (executor, partitions) => (partitions.size, executor) }
    val moved = Seq.newBuilder[(Int, String)]
    for ((None, partition) <- where.zipWithIndex) {
      val (executor, partitions) = least
      partitions.enqueue(partition)
      moved += partition -> executor
    }
    def most: mutable.Queue[Int] = held.maxBy { case (executor, partitions) => (partitions.size, executor) }._2
    while (least._2.size + 1 < most.size) {
      // Partitions that were moved stand at the end, and stay.
      val partition = most.dequeue()
      val (executor, partitions) = least
      partitions.enqueue(partition)
      moved += partition -> executor
    }
    moved.result()
  }
}
