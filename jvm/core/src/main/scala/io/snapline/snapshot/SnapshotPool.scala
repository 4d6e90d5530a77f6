package io.snapline.snapshot

import java.util.concurrent.{ExecutorService, LinkedBlockingQueue, ThreadPoolExecutor, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

/** The threads that run the async phase of snapshots, or tell the driver of it. Owned by the JVM; daemon threads that end when idle. */
final class SnapshotPool(threads: Int, name: String = "snapline-snapshot") {
  private val number = new AtomicInteger
  private val pool: ExecutorService = {
    val executor = new ThreadPoolExecutor(
      threads,
      threads,
      5,
      TimeUnit.SECONDS,
      new LinkedBlockingQueue[Runnable],
      (task: Runnable) => {
        val thread = new Thread(task, s"$name-${number.incrementAndGet()}")
        thread.setDaemon(true)
        thread
      }
    )
    executor.allowCoreThreadTimeOut(true)
    executor
  }

  def submit(task: Runnable): Unit = pool.execute(task)
}
