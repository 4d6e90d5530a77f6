package io.snapline.spark.operator.exchange

/** Bytes of state that may still go with a chunk. */
final class ByteBudget(val total: Long) {
  private var used = 0L

  def left: Long = math.max(0L, total - used)

  def take(bytes: Long): Unit = used += bytes
}

/** How many values to read from the store at once: few at first, then as many as fit, going by those before. */
final class ReadAhead {
  private var values = 0L
  private var bytes = 0L
  private var most = 16

  def next(budget: ByteBudget, wanted: Int): Int = {
    val fitting = if (bytes == 0) most.toLong else budget.left * values / bytes
    math.min(wanted.toLong, math.max(1L, math.min(fitting, most.toLong))).toInt
  }

  def read(count: Int, size: Long): Unit = {
    // What was read long ago counts less and less.
    if (values > ReadAhead.Remembered) {
      values /= 2
      bytes /= 2
    }
    values += count
    bytes += size
    if (count == most) most = math.min(most * 4, ReadAhead.Most)
  }
}

private object ReadAhead {
  private val Most = 1 << 20
  private val Remembered = 1L << 16
}
