package io.snapline.promises

import java.lang.management.ManagementFactory

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.checkpoint.coordinator.ModelQuery

/** Promises 1 and 2 for whole checkpoints: whatever the order of triggers, acknowledgements, failures, crashes and
  * restarts, a checkpoint completes only when every store has acknowledged it and its batch was committed, and no file
  * goes that it, a retained one or a store's next snapshot needs; what nothing needs goes.
  *
  * More seeds, in the sbt shell: `set core / Test / javaOptions += "-Dsnapline.test.seeds=1000"`.
  */
class Promise2CheckpointsInAnyOrderSpec extends AnyFunSuite {
  private val Steps = 6000

  test("a query's checkpoints in any order of events") {
    val seeds = 0L until sys.props.getOrElse("snapline.test.seeds", "40").toLong
    val threads = ManagementFactory.getThreadMXBean
    val began = threads.getCurrentThreadCpuTime
    val seen = seeds.map { seed =>
      val query = new ModelQuery(seed)
      try query.live(Steps)
      catch { case e: Throwable => throw new AssertionError(s"seed $seed, ${query.settings}: ${e.getMessage}", e) }
      query.seen.toMap
    }
    val counts = seen.flatten.groupMapReduce(_._1)(_._2.toLong)(_ + _)
    info(s"${seeds.size * Steps} steps in ${(threads.getCurrentThreadCpuTime - began) / 1000000} ms of CPU")
    info(counts.toSeq.sorted.map { case (what, count) => s"$what $count" }.mkString(", "))
    // Everything has happened, and not only once.
    Seq(
      "complete",
      "completed",
      "CHECKPOINT_EXPIRED",
      "CHECKPOINT_SUBSUMED",
      "CHECKPOINT_ASYNC_EXCEPTION",
      "FINALIZE_CHECKPOINT_FAILURE",
      "JOB_FAILOVER_REGION",
      "CHECKPOINT_COORDINATOR_SHUTDOWN",
      "CHECKPOINT_COORDINATOR_SUSPEND",
      "stale",
      "noise",
      "crash",
      "restart",
      "recovery",
      "failed query",
      "planned twice",
      "between batches",
      "repeated",
      "given back",
      "metadata stays",
      "purge",
      "merged",
      "merged with others",
      "ahead",
      "answered by a later one"
    ).foreach(what => assert(counts.getOrElse(what, 0L) > seeds.size / 2, s"$what is rare"))
  }
}
