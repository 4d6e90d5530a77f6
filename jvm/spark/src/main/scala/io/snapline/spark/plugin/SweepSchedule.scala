package io.snapline.spark.plugin

/** When a run sweeps its folder: after its first checkpoint, of what crashes have left, and once more when the oldest retained one is its own. Only then are the
  * versions that its recovery made durable below all of them.
  */
private[plugin] final class SweepSchedule {
  private var newestBefore = 0L
  private var left = 0

  /** @param highest
    *   number of the newest checkpoint of the runs before
    */
  def begun(highest: Long): Unit = {
    newestBefore = highest
    left = 2
  }

  /** Asked once after each checkpoint that completes.
    *
    * @param oldest
    *   number of the oldest retained one
    */
  def isDue(oldest: Long): Boolean = {
    val due = left == 2 || left == 1 && oldest > newestBefore
    if (due) left = if (oldest > newestBefore) 0 else 1
    due
  }
}
