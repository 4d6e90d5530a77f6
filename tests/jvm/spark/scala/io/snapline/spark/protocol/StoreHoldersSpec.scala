package io.snapline.spark.protocol

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.snapline.checkpoint._
import io.snapline.snapshot.format.VersionRef
import io.snapline.snapshot.upload.SnapshotListener

class StoreHoldersSpec extends AnyFunSuite with Eventually {
  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(20, Seconds), Span(5, Millis))

  private val store = StoreId(0, 0, "default")
  private val held = HeldStore("r", store, VersionRef(7, "u"))
  private val take = HolderOrder.Take("q", "r", store, held.ref, 3)

  /** A driver with a word to say, and what it heard. */
  private final class Driver {
    val reports = new ConcurrentLinkedQueue[HoldersReport]
    val told = new ConcurrentLinkedQueue[AnyRef]
    @volatile var orders: Seq[HolderOrder] = Nil
    @volatile var isAway = false
    @volatile var askedInVain = 0

    private def ask(report: HoldersReport): Seq[HolderOrder] = {
      if (isAway) {
        askedInVain += 1
        throw new IllegalStateException("away")
      }
      reports.add(report)
      orders
    }
    val holders = new StoreHolders(ask, () => "one", (message, _) => told.add(message): Unit, pauseMs = 5)
    def stores: Seq[HeldStore] = reports.asScala.toSeq.flatMap(_.stores)
    def declined: Seq[FailureReason] = told.asScala.toSeq.collect { case decline: Decline => decline.reason }
  }

  private final class Source(answer: Boolean) extends SnapshotSource {
    val asked = new ConcurrentLinkedQueue[VersionRef]
    @volatile var listener: SnapshotListener = _
    override def snapshot(ref: VersionRef, to: SnapshotListener): Boolean = {
      listener = to
      asked.add(ref)
      answer
    }
  }

  /** A while in which it would have asked again. */
  private def rounds(driver: Driver, count: Int): Unit = {
    val before = driver.reports.size
    eventually(assert(driver.reports.size >= before + count))
  }

  test("what is held is said once, again if the driver was away; and the executor shows that it lives") {
    val driver = new Driver
    driver.isAway = true
    driver.holders.hold(held, new Source(true))
    eventually(assert(driver.askedInVain >= 2))
    driver.isAway = false
    rounds(driver, 3)
    assert(driver.stores == Seq(held) && driver.reports.asScala.forall(r => r.executor == "one" && r.runs == Seq("r")))
    driver.holders.letGo("r", store)
  }

  test("an order is followed once, however often it comes, and its end is told") {
    val driver = new Driver
    val source = new Source(true)
    driver.orders = Seq(take)
    driver.holders.hold(held, source)
    rounds(driver, 4)
    assert(source.asked.asScala.toSeq == Seq(held.ref) && driver.told.isEmpty)
    source.listener.failed(new IllegalStateException("no room"))
    eventually(assert(driver.declined.headOption.contains(FailureReason.AsyncFailure)))
    driver.orders = Nil
  }

  test("a store that a task has, that is closed, or that holds another version by now, declines") {
    for (case_ <- 0 to 2) {
      val driver = new Driver
      val source = new Source(answer = case_ != 0)
      driver.holders.hold(if (case_ == 1) held.copy(ref = VersionRef(8, "v")) else held, source)
      // Another store keeps the thread asking.
      val other = StoreId(0, 1, "default")
      driver.holders.hold(HeldStore("r", other, VersionRef(7, "w")), new Source(true))
      if (case_ == 2) driver.holders.letGo("r", store)
      driver.orders = Seq(take)
      eventually(assert(driver.declined.headOption.contains(FailureReason.NotReady)))
      assert(source.asked.size == (if (case_ == 0) 1 else 0))
      driver.orders = Seq(HolderOrder.Forget("r"))
    }
  }

  test("when nothing is held, or the run is over, nobody is asked, and no thread is left") {
    val driver = new Driver
    def threads = Thread.getAllStackTraces.keySet.asScala.count(_.getName == "snapline-holders")
    driver.holders.hold(held, new Source(true))
    rounds(driver, 1)
    driver.orders = Seq(HolderOrder.Forget("r"))
    eventually(assert(threads == 0))
    val asked = driver.reports.size
    driver.orders = Nil
    // Without its thread nobody asks.
    assert(driver.reports.size == asked)
    driver.holders.hold(held, new Source(true))
    rounds(driver, 1)
    driver.holders.clear()
    eventually(assert(threads == 0))
  }
}
