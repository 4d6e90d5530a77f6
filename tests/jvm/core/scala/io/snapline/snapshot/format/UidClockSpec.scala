package io.snapline.snapshot.format

import java.util.UUID
import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch}

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

class UidClockSpec extends AnyFunSuite {

  test("uids are UUIDs of version 7 that sort in the order they were made, whatever the wall clock does") {
    var wall = 1000000L
    val clock = new UidClock(() => { wall += Seq(5L, -3L, 0L, -100000L, 7L)((wall.abs % 5).toInt); wall })
    val uids = Seq.fill(1000)(clock.next())
    assert(uids == uids.sorted && uids.distinct.size == uids.size)
    uids.foreach { uid =>
      val parsed = UUID.fromString(uid)
      assert(parsed.version == 7 && parsed.variant == 2 && parsed.toString == uid && VersionRef.isUid(uid))
    }
  }

  test("the first 48 bits are the wall clock where it runs ahead") {
    val clock = new UidClock(() => 1767225600123L)
    assert(UidClock.millis(clock.next()) == 1767225600123L)
    assert(UidClock.millis(clock.next()) == 1767225600124L)
  }

  test("uids sort after every uid observed") {
    val ahead = new UidClock(() => 9000000000000L).next()
    val behind = new UidClock(() => 1000L)
    assert(behind.next() < ahead)
    behind.observe(ahead)
    assert(behind.next() > ahead)
    behind.observe(new UidClock(() => 5L).next())
    assert(behind.next() > ahead)
  }

  test("what is no uid is not observed") {
    val clock = new UidClock(() => 1000L)
    Seq("", "x", "zzzzzzzz-zzzz-7000-8000-000000000000").foreach(clock.observe)
    assert(UidClock.millis(clock.next()) == 1000L)
  }

  test("threads never get the same uid") {
    val clock = new UidClock
    val uids = new ConcurrentLinkedQueue[String]
    val start = new CountDownLatch(1)
    val threads = (0 until 4).map { _ =>
      val thread = new Thread(() => {
        start.await()
        val mine = Seq.fill(2000)(clock.next())
        assert(mine == mine.sorted)
        mine.foreach(uids.add)
      })
      thread.start()
      thread
    }
    start.countDown()
    threads.foreach(_.join())
    // Distinct by their time alone, not only by chance.
    assert(uids.asScala.map(UidClock.millis).toSet.size == 8000)
  }
}
