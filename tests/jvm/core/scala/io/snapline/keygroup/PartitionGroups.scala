package io.snapline.keygroup

/** The key groups of one partition: `partition, partition + partitions, …` below maxParallelism (only where
  * `partitions` divides it).
  */
final case class PartitionGroups(partition: Int, partitions: Int, maxParallelism: Int) {
  require(partitions > 0 && partition >= 0 && partition < partitions, s"partition $partition of $partitions")

  /** Whether every key group lies in one partition whole. */
  def whole: Boolean = maxParallelism % partitions == 0

  def contains(group: Int): Boolean = group >= 0 && group < maxParallelism && group % partitions == partition

  def iterator: Iterator[Int] = Iterator.range(partition, maxParallelism, partitions)
}
