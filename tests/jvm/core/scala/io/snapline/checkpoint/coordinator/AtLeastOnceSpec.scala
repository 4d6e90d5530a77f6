package io.snapline.checkpoint.coordinator

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.checkpoint.{CheckpointProperties, CheckpointingMode, CoordinatorSettings, Ending}
import io.snapline.error.InvalidConfiguration
import io.snapline.snapshot.merged.MergedPlace

/** Stores that need not keep to the barrier: `left` may be ahead, `right` may not. */
class AtLeastOnceSpec extends AnyFunSuite with CoordinatorFixture {
  private val settings = CoordinatorSettings(maxConcurrent = 3, mode = CheckpointingMode.AtLeastOnce)

  private def plan(c: CheckpointCoordinator, batch: Long): Option[Long] = c.batchPlanned(batch, both, 0, Set(left))

  private def completes(actions: Seq[Action]): Seq[Long] = actions.collect { case Action.Complete(p) => p.id }

  test("modes are read by their names") {
    CheckpointingMode.all.foreach(mode => assert(CheckpointingMode.named(mode.name) == mode))
    assert(intercept[InvalidConfiguration](CheckpointingMode.named("ONCE")).getMessage.contains("AT_LEAST_ONCE"))
  }

  test(
    "a snapshot of a later batch counts once that batch is committed, for the sink is to have what a replay will not put out"
  ) {
    val c = coordinator(settings)
    assert(plan(c, 4).contains(1L) && c.owed.contains(1L))
    assert(c.acknowledged(ack(1, right, handle(5)), 0).isEmpty)
    assert(c.batchCommitted(4, 0).isEmpty)
    assert(c.acknowledged(ack(1, left, handle(7)), 0).isEmpty)
    assert(c.owed.isEmpty, "all have answered")
    assert(c.batchCommitted(5, 0).isEmpty)
    assert(completes(c.batchCommitted(6, 0)) == Seq(1L))
  }

  test("what all stores have answered does not expire, however long the later batch takes") {
    val c = coordinator(settings.copy(timeoutMs = 50))
    plan(c, 4)
    c.batchCommitted(4, 0)
    c.acknowledged(ack(1, right, handle(5)), 0)
    c.acknowledged(ack(1, left, handle(6)), 0)
    plan(c, 5)
    assert(c.tick(100).isEmpty && c.tick(200).isEmpty)
    assert(completes(c.batchCommitted(5, 300)) == Seq(1L))
  }

  test("a batch that was committed before the answer came is not waited for") {
    val c = coordinator(settings)
    plan(c, 4)
    c.acknowledged(ack(1, right, handle(5)), 0)
    c.batchCommitted(6, 0)
    assert(completes(c.acknowledged(ack(1, left, handle(7)), 0)) == Seq(1L))
  }

  test("one answer counts for every older checkpoint that waits for the store") {
    val c = coordinator(settings)
    (4L to 6L).foreach(batch => assert(plan(c, batch).isDefined))
    (1L to 3L).foreach(id => c.acknowledged(ack(id, right, handle(id + 4)), 0))
    c.batchCommitted(6, 0)
    assert(c.owed.contains(3L))
    val snapshot = handle(7, file())
    assert(completes(c.acknowledged(ack(3, left, snapshot), 0)) == Seq(1L, 2L, 3L))
    assert(c.mayReuse(ack(3, left, snapshot)))
    c.metadataWritten(1, 1, 0)
    // The files stay as long as one of the three names them.
    val first = deletes(c.metadataWritten(2, 1, 0))
    assert(first.map(_.checkpoint) == Seq(1L))
    val second = deletes(c.metadataWritten(3, 1, 0))
    assert(second.map(_.checkpoint) == Seq(2L))
    assert((first ++ second).flatMap(_.files).forall(file => !snapshot.names(left).contains(file)))
    assert(snapshot.names(left).forall(c.isNamed))
  }

  test("an answer for a checkpoint that was given up still counts for an older one") {
    val c = coordinator(settings.copy(tolerableFailures = 5))
    plan(c, 4)
    plan(c, 5)
    c.acknowledged(ack(1, right, handle(5)), 0)
    c.declined(decline(2, right), 0)
    c.batchCommitted(5, 0)
    assert(completes(c.acknowledged(ack(2, left, handle(6)), 0)) == Seq(1L))
  }

  test("a merged file stays as long as an older checkpoint may be answered with a handle in it") {
    val c = coordinator(settings.copy(tolerableFailures = 9))
    assert(plan(c, 4).contains(1L) && plan(c, 5).contains(2L))
    c.batchCommitted(5, 0)
    c.acknowledged(ack(1, right, handle(5)), 0)
    c.declined(decline(2, right), 0)
    val place = Some(MergedPlace(clock.next(), 28))
    // Of another attempt, whose checkpoint was given up: nobody will name its handle.
    assert(deletes(c.acknowledged(ack(2, right, handle(6).copy(merged = place)), 0)).isEmpty)
    val ahead = handle(6).copy(merged = place)
    assert(completes(c.acknowledged(ack(2, left, ahead), 0)) == Seq(1L))
    assert(c.isNamed(ahead.mergedFile.get))
    c.metadataWritten(1, 50, 0)
    assert(deletes(c.disposed(1)).flatMap(_.handles).contains(ahead.mergedFile.get))
  }

  test("neither a store that must keep to the barrier, nor a version before it, nor a savepoint") {
    val c = coordinator(settings)
    plan(c, 4)
    c.batchCommitted(9, 0)
    assert(c.acknowledged(ack(1, right, handle(6)), 0).forall(_.isInstanceOf[Action.Delete]))
    assert(c.acknowledged(ack(1, left, handle(4)), 0).forall(_.isInstanceOf[Action.Delete]))
    assert(c.dropped.foreign == 2 && c.inProgress.head.acked.isEmpty)
    c.requested(CheckpointProperties.Savepoint)
    val id = plan(c, 10).get
    assert(c.inProgress.last.mayBeAhead.isEmpty && c.owed.contains(1L))
    c.acknowledged(ack(id, left, handle(12)), 0)
    assert(!c.inProgress.last.acked.contains(left), "a savepoint is of its batch")
  }

  test("nothing is owed to what has ended") {
    val c = coordinator(settings.copy(timeoutMs = 50))
    plan(c, 4)
    c.batchCommitted(4, 0)
    c.tick(100)
    assert(c.owed.isEmpty)
    plan(c, 5)
    c.ended(Ending.Suspended, 200)
    assert(c.owed.isEmpty)
  }
}
