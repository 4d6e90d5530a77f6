package io.snapline.spark.coordinator

import java.util.UUID

import scala.collection.mutable
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.error.{QueryTakenOver, StoreClosed}
import io.snapline.storage.MemoryStorage

/** Of all drivers that claim a folder one goes on, whatever happens at the same time. */
class DriverClaimSpec extends AnyFunSuite {
  private val here = ClaimHolder.here("app-1")

  private def claim(storage: MemoryStorage, holder: ClaimHolder = here, slept: mutable.Buffer[Long] = mutable.Buffer())
      : DriverClaim = new DriverClaim(storage, holder, sleep = slept += _)

  test("who claims last goes on, and the other is told who that is") {
    val storage = new MemoryStorage
    val first = claim(storage)
    first.take()
    first.check()
    val second = claim(storage, here.copy(application = "app-2", host = "elsewhere"))
    second.take()
    second.check()
    val e = intercept[QueryTakenOver](first.check())
    assert(e.getMessage.contains("app-2 on elsewhere"))
    assert(first.lost.contains(e) && second.lost.isEmpty)
    second.release(idle = true)
    // Lost is lost: what the other has done is there.
    intercept[QueryTakenOver](first.check())
    intercept[QueryTakenOver](first.take())
    first.release(idle = true)
    assert(storage.files.isEmpty)
  }

  test("a driver that slept while another came and went has lost the folder") {
    val storage = new MemoryStorage
    val first = claim(storage)
    first.take()
    val second = claim(storage)
    second.take()
    second.release(idle = true)
    assert(intercept[QueryTakenOver](first.check()).getMessage.contains("which has ended"))
    intercept[QueryTakenOver](first.take())
  }

  test("and so it has where a third one has claimed since, whatever their ids are") {
    for (ids <- Seq(new UUID(1, 1), new UUID(2, 2)).map(_.toString).permutations) {
      val storage = new MemoryStorage
      val first = new DriverClaim(storage, here, ids.head, _ => ())
      first.take()
      val second = claim(storage)
      second.take()
      second.release(idle = true)
      val third = new DriverClaim(storage, here, ids(1), _ => ())
      third.take()
      intercept[QueryTakenOver](first.check())
      third.check()
    }
  }

  test("a driver that has ended has no claim, and makes none") {
    val storage = new MemoryStorage
    val one = claim(storage)
    one.check()
    one.take()
    one.release(idle = true)
    intercept[StoreClosed](one.check())
    intercept[StoreClosed](one.take())
    assert(storage.files.isEmpty && one.lost.isEmpty)
  }

  test("while work of it is under way, the next driver gives it time") {
    val storage = new MemoryStorage
    val one = claim(storage)
    one.take()
    one.release(idle = false)
    intercept[StoreClosed](one.check())
    val slept = mutable.Buffer[Long]()
    claim(storage, here, slept).take()
    assert(slept.size == 1 && storage.files.size == 1)
  }

  test("a query that starts again by itself keeps its claim") {
    val storage = new MemoryStorage
    val one = claim(storage)
    one.take()
    val there = storage.files.keySet
    one.take()
    assert(storage.files.keySet == there && one.lost.isEmpty)
  }

  test("only a driver that may live gets time to end what it is about") {
    val storage = new MemoryStorage
    val slept = mutable.Buffer[Long]()
    claim(storage, here, slept).take()
    assert(slept.isEmpty, "nobody was there")
    claim(storage, here, slept).take()
    assert(slept.size == 1, "this process lives")
    claim(storage, here.copy(host = "elsewhere"), slept).take()
    assert(slept.size == 2)
    claim(storage, here, slept).take()
    assert(slept.size == 3, "of another machine nobody knows")
    storage.files.clear()
    claim(storage, here.copy(startedMs = here.startedMs - 1)).take()
    claim(storage, here, slept).take()
    assert(slept.size == 3, "that process has died, and its number is another's now")
  }

  test("a claim that cannot be read counts like any other") {
    val storage = new MemoryStorage
    claim(storage).take()
    storage.files(storage.files.keys.head) = Array[Byte]('{', 0, -1)
    val slept = mutable.Buffer[Long]()
    val second = claim(storage, here, slept)
    second.take()
    assert(slept.size == 1 && second.lost.isEmpty)
  }

  test("files that are no claims are left alone") {
    val storage = new MemoryStorage
    Seq("README", "9_x", "999999999999999999999_" + UUID.randomUUID()).foreach { name =>
      storage.files(name) = Array.emptyByteArray
    }
    val one = claim(storage)
    one.take()
    one.check()
    one.release(idle = true)
    assert(storage.files.size == 3)
  }

  test("drivers that begin at the same moment: exactly one goes on") {
    for (seed <- 0 until 100) {
      val chance = new Random(seed)
      val storage = new MemoryStorage
      val all = Seq.fill(2 + chance.nextInt(3))(claim(storage))
      val threads = all.map(each =>
        new Thread(() =>
          try each.take()
          catch { case _: QueryTakenOver => () }
        )
      )
      threads.foreach(_.start())
      threads.foreach(_.join())
      val going = all.filter(each => each.lost.isEmpty && scala.util.Try(each.check()).isSuccess)
      assert(going.size == 1, s"seed $seed")
    }
  }

  test("two that choose the same number: the greater id goes on") {
    val storage = new MemoryStorage
    val ids = Seq(new UUID(1, 1), new UUID(2, 2)).map(_.toString)
    val low = new DriverClaim(storage, here, ids.head, _ => ())
    low.take()
    // It had listed the folder when it was empty, too.
    storage.files(s"1_${ids(1)}") = here.json.getBytes
    intercept[QueryTakenOver](low.check())
  }
}
