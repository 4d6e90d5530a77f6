package io.snapline.spark.coordinator

import java.util.concurrent.{CountDownLatch, TimeUnit}

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.checkpoint.coordinator.Action

class DeletionsSpec extends AnyFunSuite {
  private def wanted(id: Long): Action.Delete = Action.Delete(id, metadata = true, Nil, Nil)

  test("what cannot be deleted holds up what comes after it, and is tried again") {
    var broken = Set(2L)
    var done = Seq.empty[Long]
    val deletions = new Deletions(
      action => {
        if (broken(action.checkpoint)) throw new java.io.IOException("no")
        done :+= action.checkpoint
      },
      "here"
    )
    (1L to 4L).foreach(id => deletions.add(wanted(id), deletions.reading))
    assert(done == Seq(1L))
    deletions.run()
    assert(done == Seq(1L))
    broken = Set.empty
    deletions.run()
    assert(done == Seq(1L, 2L, 3L, 4L))
    deletions.run()
    assert(done.size == 4)
  }

  test("what was wanted before the folder was read anew is forgotten, waiting or still to come") {
    var broken = true
    var done = Seq.empty[Long]
    val deletions =
      new Deletions(action => if (broken) throw new java.io.IOException("no") else done :+= action.checkpoint, "here")
    val before = deletions.reading
    deletions.add(wanted(1), before)
    assert(deletions.anew(7) == 7)
    broken = false
    deletions.run()
    deletions.add(wanted(2), before)
    assert(done == Nil)
    deletions.add(wanted(3), deletions.reading)
    assert(done == Seq(3L))
  }

  test("the folder is not read while something is deleted, and the reading is known all the same") {
    val deleting = new CountDownLatch(1)
    val go = new CountDownLatch(1)
    val deletions = new Deletions(_ => { deleting.countDown(); go.await() }, "here")
    val worker = new Thread(() => deletions.add(wanted(1), 0))
    worker.start()
    deleting.await()
    assert(deletions.reading == 0)
    val read = new CountDownLatch(1)
    val reader = new Thread(() => deletions.anew(read.countDown()))
    reader.start()
    assert(!read.await(50, TimeUnit.MILLISECONDS))
    go.countDown()
    assert(read.await(30, TimeUnit.SECONDS))
    Seq(worker, reader).foreach(_.join())
  }
}
