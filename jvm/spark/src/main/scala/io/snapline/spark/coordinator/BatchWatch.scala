package io.snapline.spark.coordinator

import java.util.concurrent.TimeUnit

/** When a driver has to look whether its checkpoint folder is still its own, besides before each batch and each change:
  * once a second while a batch runs, and at once when it was paused itself. One thread.
  */
private[spark] final class BatchWatch {
  import BatchWatch._
  private var lastCall: Option[Long] = None
  private var lastLook: Option[Long] = None

  /** Called more often than once a second.
    *
    * @param nowNs
    *   of a clock that nobody sets
    */
  def isDue(batchRuns: Boolean, nowNs: Long): Boolean = {
    val paused = lastCall.exists(nowNs - _ > EveryNs)
    lastCall = Some(nowNs)
    val due = paused || (batchRuns && lastLook.forall(nowNs - _ >= EveryNs))
    if (due || !batchRuns) lastLook = Some(nowNs)
    due
  }
}

private object BatchWatch {
  private val EveryNs = TimeUnit.SECONDS.toNanos(1)
}
