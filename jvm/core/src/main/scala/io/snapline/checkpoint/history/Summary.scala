package io.snapline.checkpoint.history

/** Least, greatest and mean of a figure over completed checkpoints. */
final case class Summary(count: Long = 0, min: Long = 0, max: Long = 0, sum: Long = 0) {
  def add(value: Long): Summary =
    if (count == 0) Summary(1, value, value, value)
    else Summary(count + 1, math.min(min, value), math.max(max, value), sum + value)

  def avg: Long = if (count == 0) 0 else sum / count
}
