package io.snapline.spark.plugin

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.checkpoint.Action

class DeletionsSpec extends AnyFunSuite {
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
    (1L to 4L).foreach(id => deletions.add(Action.Delete(id, metadata = true, Nil, Nil)))
    assert(done == Seq(1L))
    deletions.run()
    assert(done == Seq(1L))
    broken = Set.empty
    deletions.run()
    assert(done == Seq(1L, 2L, 3L, 4L))
    deletions.run()
    assert(done.size == 4)
  }
}
