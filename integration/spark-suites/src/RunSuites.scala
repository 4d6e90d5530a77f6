package io.snapline.integration

import java.io.{File, PrintWriter}
import java.lang.management.ManagementFactory

import scala.collection.mutable
import scala.io.Source

import com.sun.management.OperatingSystemMXBean
import net.bytebuddy.agent.ByteBuddyAgent
import org.apache.spark.sql.execution.streaming.state.undertest.UnderTest
import org.scalatest.Reporter
import org.scalatest.events._
import org.scalatest.tools.Runner

final case class Result(suite: String, test: String, outcome: String, millis: Long, error: String)

object Results {
  private val all = mutable.ArrayBuffer.empty[Result]
  private var watchdog: Watchdog = _

  def tell(dog: Watchdog): Unit = watchdog = dog

  def add(result: Result): Unit = synchronized {
    watchdog.sign()
    all += result
    println(s"  ${result.outcome} ${result.millis} ms ${result.suite}: ${result.test}")
  }

  def take(): Seq[Result] = synchronized {
    val taken = all.toSeq
    all.clear()
    taken
  }
}

/** ScalaTest makes it by name (option -C). */
class Collect extends Reporter {
  override def apply(event: Event): Unit = event match {
    case e: TestSucceeded => add(e.suiteId, e.testName, "passed", e.duration, "")
    case e: TestFailed => add(e.suiteId, e.testName, "failed", e.duration, reason(e.message, e.throwable))
    case e: TestCanceled => add(e.suiteId, e.testName, "canceled", e.duration, reason(e.message, e.throwable))
    case e: TestIgnored => add(e.suiteId, e.testName, "ignored", None, "")
    case e: SuiteAborted => add(e.suiteId, "(suite aborted)", "failed", None, reason(e.message, e.throwable))
    case e: RunAborted => add("-", "(run aborted)", "failed", None, reason(e.message, e.throwable))
    case _ => ()
  }

  private def add(suite: String, test: String, outcome: String, millis: Option[Long], error: String): Unit =
    Results.add(Result(suite.split('.').last, test, outcome, millis.getOrElse(0L), error))

  private def reason(message: String, thrown: Option[Throwable]): String = {
    val causes = Iterator.iterate(thrown.orNull)(_.getCause).takeWhile(_ != null).take(6)
    val texts = causes.map(e => s"${e.getClass.getSimpleName}: ${e.getMessage}").toSeq.distinct
    (if (texts.isEmpty) message else texts.mkString(" <- ")).replaceAll("\\s+", " ").take(1500)
  }
}

/** Runs suites one after another and says what is not as it should be:
  *
  * a test that fails and is not in known/, one of expected/ that did not run, a suite that never made the provider
  * under test.
  *
  * Arguments: folder of expected/, file for the results, suites. TEST=text keeps tests whose name has it.
  */
object RunSuites {
  private val Package = "org.apache.spark.sql.execution.streaming.state.undertest."

  def main(args: Array[String]): Unit = {
    val home = new File(args(0))
    val only = sys.env.get("TEST").filter(_.nonEmpty)
    Probe.install(ByteBuddyAgent.install())
    Results.tell(new Watchdog(sys.props("spark.test.timeout").toLong + 3))
    val table = new PrintWriter(args(1), "UTF-8")
    var surprises = 0
    args.drop(2).foreach { suite =>
      val expected = if (only.isEmpty) lines(new File(home, s"expected/$suite.txt")) else Nil
      surprises += run(suite, only, expected, table)
    }
    table.close()
    // Spark may leave threads behind that are no daemons.
    Runtime.getRuntime.halt(if (surprises > 0) 1 else 0)
  }

  private def run(
      suite: String,
      only: Option[String],
      expected: Seq[String],
      table: PrintWriter
  ): Int = {
    val begun = System.nanoTime()
    val cpuBefore = cpuNanos
    val filter = only.toSeq.flatMap(text => Seq("-z", text))
    Runner.run(Array("-s", Package + suite, "-C", classOf[Collect].getName, "-l", UnderTest.Skipped) ++ filter): Unit
    val results = Results.take()
    def isKnown(test: String): Boolean = UnderTest.known(s"$suite\t$test")
    def ours(test: String): Long = UnderTest.inits.get((suite, test)).fold(0L)(_._1)
    def others(test: String): Long = UnderTest.inits.get((suite, test)).fold(0L)(_._2)

    val ran = results.filter(r => r.outcome == "passed" || r.outcome == "failed")
    val (knownFailures, failures) = ran.filter(_.outcome == "failed").partition(r => isKnown(r.test))
    val missing = expected.filterNot(ran.map(_.test).toSet).filterNot(isKnown).sorted
    val idle = only.isEmpty && !ran.exists(r => ours(r.test) > 0)

    def row(test: String, outcome: String, millis: Long, ours: Long, others: Long, error: String): Unit =
      table.println(s"$suite\t$test\t$outcome\t$millis\t$ours\t$others\t$error")

    results.foreach { r =>
      val how = if (r.outcome == "failed" && isKnown(r.test)) "known" else r.outcome
      row(r.test, how, r.millis, ours(r.test), others(r.test), r.error)
    }
    missing.foreach(test => row(test, "not run", 0, 0, 0, ""))
    if (idle) row("(whole suite)", "idle", 0, 0, 0, "")
    table.flush()

    failures.foreach(r => println(s"FAILED $suite: ${r.test}\n       ${r.error.take(400)}"))
    missing.foreach(test => println(s"FAILED $suite: $test\n       did not run"))
    if (idle) println(s"FAILED $suite: no test made the provider under test")
    ran.filter(r => r.outcome == "passed" && isKnown(r.test)).foreach { r =>
      println(s"NOTE   $suite: ${r.test}\n       passes; take it out of known/")
    }
    println(
      f"SUITE  $suite%-34s ${ran.count(_.outcome == "passed")}%6d ${failures.size + missing.size}%6d " +
        f"${knownFailures.size}%6d ${ran.count(r => ours(r.test) > 0)}%6d " +
        f"${(System.nanoTime() - begun) / 1000000000L}%6d ${(cpuNanos - cpuBefore) / 1000000000L}%6d"
    )
    System.out.flush()
    failures.size + missing.size + (if (idle) 1 else 0)
  }

  /** Wall time says little on a machine that does other things too. */
  private def cpuNanos: Long = ManagementFactory.getOperatingSystemMXBean match {
    case os: OperatingSystemMXBean => os.getProcessCpuTime
    case _ => 0L
  }

  private def lines(file: File): Seq[String] =
    if (!file.exists) Nil
    else {
      val source = Source.fromFile(file, "UTF-8")
      try source.getLines().filter(line => line.trim.nonEmpty && !line.startsWith("#")).toList
      finally source.close()
    }
}
