package io.snapline.snapshot.upload

import java.util.concurrent.{
  Callable, ExecutionException, ExecutorService, LinkedBlockingQueue, ThreadPoolExecutor, TimeUnit
}
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._

/** Threads that run the async phase of snapshots, tell the driver of it, or do what many stores need at once. Daemon
  * threads that end when idle.
  */
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

  /** Runs all of them, and returns when they have ended; throws what the first that failed has thrown. */
  def runAll(tasks: Seq[() => Unit]): Unit = {
    val callables = tasks.map(task => (() => task()): Callable[Unit])
    pool.invokeAll(callables.asJava).asScala.foreach { done =>
      try done.get()
      catch { case e: ExecutionException => throw e.getCause }
    }
  }
}
