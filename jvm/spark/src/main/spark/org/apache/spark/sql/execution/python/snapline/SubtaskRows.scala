package org.apache.spark.sql.execution.python.snapline

import org.apache.spark.{Dependency, NarrowDependency, Partition, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow

/** The rows of an operator without keys: partition i of the input belongs to partition i mod n of the operator. Nothing
  * is shuffled, and a batch that is run again puts its rows where they were, as long as its input is split as before.
  */
private[snapline] final class SubtaskRows(@transient private var input: RDD[InternalRow], count: Int)
    extends RDD[InternalRow](input.context, Nil) {

  override protected def getPartitions: Array[Partition] = Array.tabulate[Partition](count) { i =>
    new SubtaskRows.Part(i, parents(i).map(input.partitions(_)).toArray)
  }

  override protected def getDependencies: Seq[Dependency[_]] = Seq(new NarrowDependency(input) {
    override def getParents(partition: Int): Seq[Int] = parents(partition)
  })

  private def parents(partition: Int): Seq[Int] = partition until input.getNumPartitions by count

  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] =
    split.asInstanceOf[SubtaskRows.Part].inputs.iterator.flatMap(firstParent[InternalRow].iterator(_, context))

  override protected def clearDependencies(): Unit = {
    super.clearDependencies()
    input = null
  }
}

private[snapline] object SubtaskRows {
  def of(input: RDD[InternalRow], count: Int): RDD[InternalRow] =
    if (input.getNumPartitions == count) input else new SubtaskRows(input, count)

  private final class Part(override val index: Int, val inputs: Array[Partition]) extends Partition
}
