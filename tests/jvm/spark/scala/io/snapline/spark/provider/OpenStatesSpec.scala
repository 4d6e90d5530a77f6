package io.snapline.spark.provider

import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.snapline.checkpoint.StoreId
import io.snapline.snapshot.format.VersionRef
import io.snapline.snapshot.store.OpenState

/** Who ends a store whose state the next run may want. */
class OpenStatesSpec extends AnyFunSuite with Eventually {
  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(20, Seconds), Span(5, Millis))

  private val hour = 3600000L
  private def place(partition: Int, root: String = "q/state") = OpenStates.Place(root, StoreId(0, partition, "default"))

  private final class Owner extends StateOwner {
    @volatile var asked = 0
    @volatile var ended = 0
    var whileAsked: () => Unit = () => ()
    override def giveUp(wanted: VersionRef => Boolean): Option[OpenState] = {
      asked += 1
      whileAsked()
      None
    }
    override def end(): Unit = ended += 1
  }

  test("an owner that Spark closes is kept until nobody has wanted anything for a while") {
    val states = new OpenStates(quietMs = 50)
    val (one, other, unknown) = (new Owner, new Owner, new Owner)
    states.leave(place(0), 3, one)
    states.leave(place(1), 3, other)
    assert(states.keeps(one) && !states.keeps(unknown))
    assert(one.ended == 0)
    eventually(assert(one.ended == 1))
    // Spark has not closed it, so that it is Spark's.
    assert(other.ended == 0)
    assert(states.keeps(other))
    eventually(assert(other.ended == 1))
    assert(!states.keeps(one) && !states.keeps(other))
  }

  test("a state that is asked for is asked for once; an owner that does not give it up is ended if it is ours") {
    for (isOurs <- Seq(true, false)) {
      val states = new OpenStates(hour)
      val owner = new Owner
      states.leave(place(0), 3, owner)
      assert(!isOurs || states.keeps(owner))
      assert(states.take(place(1))(_ => true).isEmpty && owner.asked == 0)
      assert(states.take(place(0))(_ => true).isEmpty && owner.asked == 1)
      assert(states.take(place(0))(_ => true).isEmpty && owner.asked == 1)
      if (isOurs) eventually(assert(owner.ended == 1))
      assert(!states.keeps(owner))
    }
  }

  test("a state that was loaded ahead is the list's own from the first moment") {
    val states = new OpenStates(quietMs = 50)
    val (one, other) = (new Owner, new Owner)
    states.keep(place(0), 3, one)
    eventually(assert(one.ended == 1))
    states.keep(place(0), 5, one)
    states.keep(place(0), 6, other)
    eventually(assert(one.ended == 2))
    eventually(assert(other.ended == 1))
    assert(states.take(place(0))(_ => true).isEmpty && other.asked == 0)
  }

  test("an owner that Spark closes just when it is asked is kept, too") {
    val states = new OpenStates(hour)
    val owner = new Owner
    states.leave(place(0), 3, owner)
    owner.whileAsked = () => assert(states.keeps(owner))
    assert(states.take(place(0))(_ => true).isEmpty)
    eventually(assert(owner.ended == 1))
  }

  test("when nothing is kept any more, no thread waits") {
    def threads: Int =
      Thread.getAllStackTraces.keySet.toArray.count(_.asInstanceOf[Thread].getName == "snapline-open-states")
    eventually(assert(threads == 0))
    val states = new OpenStates(hour)
    val owner = new Owner
    states.leave(place(0), 3, owner)
    assert(states.keeps(owner) && threads == 1)
    states.take(place(0))(_ => true)
    eventually(assert(owner.ended == 1 && threads == 0))
    states.leave(place(0), 3, owner)
    assert(states.keeps(owner))
    states.clear()
    eventually(assert(owner.ended == 2 && threads == 0))
  }

  test("two batches later a state is outdated, of this query and no other") {
    val states = new OpenStates(hour)
    val owners = Seq.fill(4)(new Owner)
    states.leave(place(0), 3, owners(0))
    states.leave(place(1), 3, owners(1))
    states.leave(place(0, "other/state"), 3, owners(2))
    owners.take(3).foreach(owner => assert(states.keeps(owner)))
    states.leave(place(2), 4, owners(3))
    assert(owners.forall(_.ended == 0))
    // Its own, and that of a partition that another executor has by now.
    states.leave(place(0), 5, owners(3))
    eventually(assert(owners.map(_.ended) == Seq(1, 1, 0, 0)))
    states.clear()
    eventually(assert(owners.map(_.ended) == Seq(1, 1, 1, 0)))
  }
}
