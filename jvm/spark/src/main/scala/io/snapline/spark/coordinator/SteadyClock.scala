package io.snapline.spark.coordinator

import java.util.concurrent.TimeUnit

/** Milliseconds since 1970 that run on when the machine's clock is set: the time at which this was made, and what has
  * gone by since. Intervals, pauses and timeouts of a coordinator are measured with it; set back by an hour, the
  * machine's own clock would have it take no checkpoint for an hour, and forward, take every executor for a silent one.
  * Any thread.
  */
private[spark] final class SteadyClock(
    wallMs: () => Long = () => System.currentTimeMillis(),
    counterNs: () => Long = () => System.nanoTime()
) {
  private val begunMs = wallMs()
  private val begunNs = counterNs()

  def nowMs: Long = begunMs + TimeUnit.NANOSECONDS.toMillis(counterNs() - begunNs)
}
