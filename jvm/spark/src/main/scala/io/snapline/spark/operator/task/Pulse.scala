package io.snapline.spark.operator.task

/** When a task with live rows stops waiting for them: in equal times, whether rows come or not.
  *
  * @param tickMillis
  *   from one tick to the next
  */
private[task] final class Pulse(rows: LiveRows, tickMillis: Long) {
  private val tickNanos = tickMillis * 1000000
  private var next = System.nanoTime + tickNanos

  def isDue: Boolean = System.nanoTime >= next

  /** All that a tick is for has been done. */
  def passed(): Unit = next = System.nanoTime + tickNanos

  /** Whether no row is there, and more may come. */
  def isIdle: Boolean = !rows.isReady && !rows.isOver

  /** For a row, the end of the rows, or the next tick. */
  def await(): Unit = rows.await(math.max(1, next - System.nanoTime))
}
