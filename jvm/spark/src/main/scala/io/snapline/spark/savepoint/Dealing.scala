package io.snapline.spark.savepoint

/** How the elements of an operator's list are dealt out over another number of partitions: as Flink's
  * RoundRobinOperatorStateRepartitioner does.
  *
  * @param counts
  *   by partition, how many elements it has, in positions from 0
  * @param from
  *   partitions there were
  * @param to
  *   partitions there will be
  * @param start
  *   the partition to begin with: where the surplus of the state before ended
  */
private[savepoint] final case class Dealing(union: Boolean, counts: Map[Int, Long], from: Int, to: Int, start: Int) {
  private val before = (0 until from).scanLeft(0L)((sum, partition) => sum + counts.getOrElse(partition, 0L))
  private val share = before.last / to
  private val surplus = (before.last % to).toInt

  /** The partition that the next state begins with. */
  def nextStart: Int = if (union || from == to) start else (start + surplus) % to

  /** Where an element goes: partitions, and its position in each. */
  def places(partition: Int, position: Long): Iterator[(Int, Long)] = {
    val number = before(partition) + position
    if (union) (0 until to).iterator.map(_ -> number)
    else if (from == to) Iterator.single(partition -> position)
    else Iterator.single(place(number))
  }

  /** The first `surplus` partitions get one element more than the others, each a stretch. */
  private def place(number: Long): (Int, Long) = {
    val large = surplus * (share + 1)
    val (turn, position) =
      if (number < large) (number / (share + 1), number % (share + 1))
      else (surplus + (number - large) / share, (number - large) % share)
    (((start + turn) % to).toInt, position)
  }
}
