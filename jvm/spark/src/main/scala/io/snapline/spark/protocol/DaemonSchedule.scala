package io.snapline.spark.protocol

import java.util.concurrent.{ScheduledThreadPoolExecutor, TimeUnit}

/** One thread for what is due later. It keeps no JVM alive, and ends when it is idle. */
private[spark] object DaemonSchedule {

  def apply(name: String): ScheduledThreadPoolExecutor = {
    val schedule = new ScheduledThreadPoolExecutor(
      1,
      (task: Runnable) => {
        val thread = new Thread(task, name)
        thread.setDaemon(true)
        thread
      }
    )
    schedule.setKeepAliveTime(1, TimeUnit.SECONDS)
    schedule.allowCoreThreadTimeOut(true)
    schedule.setRemoveOnCancelPolicy(true)
    schedule
  }
}
