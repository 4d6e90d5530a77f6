package io.snapline.checkpoint.coordinator

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.checkpoint._
import io.snapline.snapshot.format.{UidClock, VersionRef}

/** A coordinator with two stores and short ways to tell it things. */
trait CoordinatorFixture { this: AnyFunSuite =>
  val clock = new UidClock
  val left: StoreId = StoreId(0, 0, "default")
  val right: StoreId = StoreId(0, 1, "default")
  val both: Set[StoreId] = Set(left, right)

  def file(): SharedFile = SharedFile(clock.next(), 100, 7)

  def handle(version: Long, files: SharedFile*): StateHandle =
    StateHandle(VersionRef(version, clock.next()), files, 100L * files.size, files.size, 100L * files.size, 1, 2, 10)

  def coordinator(settings: CoordinatorSettings = CoordinatorSettings()): CheckpointCoordinator = {
    val coordinator = new CheckpointCoordinator("q", settings)
    assert(coordinator.started("r", Nil, 0, None, 0).isEmpty)
    coordinator
  }

  def ack(id: Long, store: StoreId, handle: StateHandle, run: String = "r"): Acknowledgement =
    Acknowledgement("q", run, id, store, handle)

  def decline(id: Long, store: StoreId, reason: FailureReason = FailureReason.AsyncFailure): Decline =
    Decline("q", "r", id, store, reason, "No room.")

  implicit class Ways(c: CheckpointCoordinator) {
    def plan(batch: Long, now: Long = 0): Option[Long] = c.batchPlanned(batch, both, now)

    /** A whole checkpoint of a batch, which must be due; returns what its completion leads to. */
    def complete(batch: Long, now: Long = 0, files: Map[StoreId, StateHandle] = Map.empty): Seq[Action] = {
      val id = plan(batch, now).get
      both.foreach(store => c.acknowledged(ack(id, store, files.getOrElse(store, handle(batch + 1, file()))), now))
      val Seq(Action.Complete(p)) = c.batchCommitted(batch, now): @unchecked
      assert(p.id == id)
      c.metadataWritten(id, 50, now)
    }
  }

  def deletes(actions: Seq[Action]): Seq[Action.Delete] = actions.collect { case delete: Action.Delete => delete }
}
