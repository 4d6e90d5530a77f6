package io.snapline.spark.coordinator

import java.util.concurrent.TimeUnit

/** When a run sweeps its folder: after its first checkpoint, of what crashes have left, and once more when the oldest
  * retained one is its own. Only then are the versions that its recovery made durable below all of them. From then on
  * once a day, of what attempts of tasks have left that failed behind their commit.
  */
private[spark] final class SweepSchedule {
  private var newestBefore = 0L
  private var left = 0
  private var lastMs = 0L

  /** @param highest
    *   number of the newest checkpoint of the runs before
    */
  def begun(highest: Long, nowMs: Long): Unit = {
    newestBefore = highest
    left = 2
    lastMs = nowMs
  }

  /** Asked once after each checkpoint that completes.
    *
    * @param oldest
    *   number of the oldest retained one
    */
  def isDue(oldest: Long, nowMs: Long): Boolean = {
    val due = left == 2 || left == 1 && oldest > newestBefore || nowMs - lastMs >= SweepSchedule.EveryMs
    if (due) {
      left = if (oldest > newestBefore) 0 else 1
      lastMs = nowMs
    }
    due
  }
}

private[spark] object SweepSchedule {

  /** Table files that nobody names stay for a day in any case. */
  val EveryMs: Long = TimeUnit.DAYS.toMillis(1)
}
