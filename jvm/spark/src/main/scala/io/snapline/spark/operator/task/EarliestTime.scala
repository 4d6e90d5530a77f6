package io.snapline.spark.operator.task

import org.apache.spark.util.AccumulatorV2

/** The earliest of the times the tasks name; Long.MaxValue if none does. */
final class EarliestTime extends AccumulatorV2[Long, Long] {
  private var earliest = Long.MaxValue

  override def isZero: Boolean = earliest == Long.MaxValue
  override def copy(): EarliestTime = {
    val other = new EarliestTime
    other.add(earliest)
    other
  }
  override def reset(): Unit = earliest = Long.MaxValue
  override def add(time: Long): Unit = earliest = math.min(earliest, time)
  override def merge(other: AccumulatorV2[Long, Long]): Unit = add(other.value)
  override def value: Long = earliest
}
