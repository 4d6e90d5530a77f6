package io.snapline.integration

import java.lang.management.ManagementFactory
import java.util.concurrent.TimeUnit

/** Ends the JVM when no test has ended for too long, and shows what its threads were at. Tests have a time limit of
  * their own (TEST_MINUTES), but an interrupt does not reach whoever waits for a lock.
  */
final class Watchdog(minutes: Long) {
  @volatile private var lastSign = System.nanoTime()

  def sign(): Unit = lastSign = System.nanoTime()

  private val thread = new Thread(() => watch(), "watchdog")
  thread.setDaemon(true)
  thread.start()

  private def watch(): Unit = {
    while (System.nanoTime() - lastSign < TimeUnit.MINUTES.toNanos(minutes)) Thread.sleep(1000)
    System.err.println(s"No test has ended for $minutes minutes.")
    ManagementFactory.getThreadMXBean.dumpAllThreads(true, true).foreach { info =>
      System.err.println(s"\n$info") // it leaves out all but eight frames
      info.getStackTrace.drop(8).foreach(frame => System.err.println(s"\tat $frame"))
    }
    System.err.flush()
    Runtime.getRuntime.halt(Watchdog.Status)
  }
}

object Watchdog {
  val Status = 3
}
