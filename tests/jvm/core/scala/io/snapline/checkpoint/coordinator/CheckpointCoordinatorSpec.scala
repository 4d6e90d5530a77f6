package io.snapline.checkpoint.coordinator

import org.scalatest.funsuite.AnyFunSuite

import io.snapline.checkpoint._
import io.snapline.snapshot.merged.MergedPlace

class CheckpointCoordinatorSpec extends AnyFunSuite with CoordinatorFixture {
  import Action._

  private def names(store: StoreId, handle: StateHandle): Set[NamedFile] = handle.names(store).toSet

  test("a checkpoint completes when every store has acknowledged and its batch was committed, in either order") {
    for (commitFirst <- Seq(true, false)) {
      val c = coordinator()
      val id = c.plan(7).get
      assert(id == 1)
      if (commitFirst) assert(c.batchCommitted(7, 1).isEmpty)
      assert(c.acknowledged(ack(id, left, handle(8, file())), 1).isEmpty)
      val last = c.acknowledged(ack(id, right, handle(8, file())), 2)
      val Complete(p) = (if (commitFirst) last else { assert(last.isEmpty); c.batchCommitted(7, 3) }).head: @unchecked
      assert(p.id == id && p.batch == 7 && p.handles.keySet == both && p.latestAckMs.contains(2L))
      assert(c.retained.isEmpty)
      assert(c.metadataWritten(id, 5, 4) == Seq(Purge(7)))
      assert(c.retained.map(_.id) == Seq(id) && c.inProgress.isEmpty)
    }
  }

  test("commits come in order: a later one stands for one that was not heard of") {
    val c = coordinator(CoordinatorSettings(maxConcurrent = 2))
    val id = c.plan(0).get
    both.foreach(store => c.acknowledged(ack(id, store, handle(1)), 0))
    assert(c.batchCommitted(1, 0).map { case Complete(p) => p.id; case _ => 0 } == Seq(id))
  }

  test("the interval runs from trigger to trigger; the first barrier of a run is due") {
    val c = coordinator(CoordinatorSettings(intervalMs = Some(100), maxConcurrent = 9))
    assert(c.plan(0, 1000).isDefined && c.plan(1, 1099).isEmpty && c.plan(2, 1100).isDefined && c.plan(3, 1199).isEmpty)
    c.started("r2", Nil, 0, None, 1199)
    assert(c.plan(4, 1199).isDefined)
  }

  test("the pause runs from completion to trigger and leaves room for one checkpoint only") {
    val c = coordinator(CoordinatorSettings(minPauseMs = 50, maxConcurrent = 5))
    assert(c.plan(0, 1000).isDefined && c.plan(1, 5000).isEmpty)
    both.foreach(store => c.acknowledged(ack(1, store, handle(1)), 5000))
    c.batchCommitted(0, 5000)
    c.metadataWritten(1, 1, 6000)
    assert(c.plan(2, 6049).isEmpty && c.plan(3, 6050).isDefined)
  }

  test("no more are in progress than may be") {
    val c = coordinator(CoordinatorSettings(maxConcurrent = 2))
    assert(c.plan(0).isDefined && c.plan(1).isDefined && c.plan(2).isEmpty)
    c.declined(decline(1, left, FailureReason.NotReady), 0)
    assert(c.plan(3).contains(3L))
  }

  test("a batch that is planned again in the same run is the same barrier") {
    val c = coordinator()
    val id = c.plan(0)
    assert(id.isDefined && c.plan(0) == id && c.inProgress.size == 1)
    val third = StoreId(5, 0, "default")
    assert(c.batchPlanned(0, Set(third), 0) == id)
    assert(c.inProgress.head.expected == both + third)
    c.declined(decline(1, left, FailureReason.NotReady), 0)
    assert(c.plan(0).isEmpty, "what was given up does not come back")
  }

  test("a person's request: at the next barrier, savepoints first, whatever the interval and the pause") {
    val c = coordinator(CoordinatorSettings(intervalMs = Some(100000), minPauseMs = 100000))
    c.complete(0)
    assert(c.plan(1, 1).isEmpty)
    val (checkpoint, none) = c.requested(CheckpointProperties.RetainedOnFailure)
    val (one, _) = c.requested(CheckpointProperties.Savepoint)
    val (two, _) = c.requested(CheckpointProperties.Savepoint)
    assert(none.isEmpty && Set(checkpoint, one, two).size == 3)
    assert(c.plan(2, 2).contains(2L))
    assert(c.inProgress.last.properties.isSavepoint && c.inProgress.last.requests == Seq(one, two))
    assert(c.plan(3, 3).isEmpty, "one that is not forced waits for room")
    c.requested(CheckpointProperties.SyncSavepoint)
    assert(c.plan(4, 4).contains(3L), "a forced one does not")
    c.declined(decline(2, left), 5)
    c.declined(decline(3, left), 5)
    assert(c.plan(5, 5).isDefined && c.inProgress.last.requests == Seq(checkpoint))
  }

  test("requests are refused when nothing runs, when too many wait, and when the run is over") {
    val idle = new CheckpointCoordinator("q", CoordinatorSettings())
    assert(idle.requested(CheckpointProperties.Savepoint) == (1, Seq(Refuse(1, FailureReason.NotRunning))))
    val c = coordinator()
    val taken = (1 to 1000).map(_ => c.requested(CheckpointProperties.Savepoint))
    assert(taken.forall(_._2.isEmpty))
    assert(c.requested(CheckpointProperties.Savepoint)._2 == Seq(Refuse(1001, FailureReason.TooManyRequests)))
    assert(c.started("r2", Nil, 0, None, 0) == taken.map { case (id, _) => Refuse(id, FailureReason.Restarted) })
  }

  test("between a failure and the next run no checkpoint is taken or completed, but for one that is being written") {
    val c = coordinator()
    c.complete(0)
    c.complete(1)
    val (two, three) = (c.plan(2).get, 4L)
    both.foreach(store => c.acknowledged(ack(two, store, handle(3)), 0))
    assert(c.batchCommitted(2, 0).size == 1, "it is being written")
    c.requested(CheckpointProperties.Savepoint)
    assert(c.plan(3).contains(three))
    val (waiting, _) = c.requested(CheckpointProperties.Savepoint)
    val over = c.interrupted(0)
    assert(over.contains(Refuse(waiting, FailureReason.Restarted)))
    assert(over.collect { case Abort(p, reason, _) => p.id -> reason } == Seq(three -> FailureReason.Restarted))
    assert(c.requested(CheckpointProperties.Savepoint)._2.nonEmpty)
    both.foreach(store => assert(!c.acknowledged(ack(three, store, handle(4)), 0).exists(_.isInstanceOf[Complete])))
    assert(c.batchCommitted(3, 0).isEmpty && c.plan(4).isEmpty && c.interrupted(0).isEmpty)
    assert(c.betweenBatches(last = true, savepoints = true, 1000).isEmpty)
    assert(c.repeated(0, savepoints = true, 1000).isEmpty)
    c.metadataWritten(two, 50, 0)
    assert(c.retained.map(_.id) == Seq(two))
    assert(c.started("r2", c.retained, 3, Some(two), 0).isEmpty)
    assert(c.plan(3).contains(5L))
  }

  test("a query that is cancelled between two runs takes its checkpoints along") {
    val c = coordinator(CoordinatorSettings(retention = RetentionPolicy.NeverRetainAfterTermination))
    c.complete(0)
    c.interrupted(0)
    assert(deletes(c.ended(Ending.Canceled, 0)).map(_.checkpoint) == Seq(1) && c.retained.isEmpty)
  }

  test("the number retained: the oldest go, metadata first, with the files that nobody else names") {
    val c = coordinator(CoordinatorSettings(retained = 2))
    val (shared, old, new2) = (file(), file(), file())
    val first = handle(1, shared, old)
    val rest = Seq(handle(2, shared), handle(3, shared, new2))
    c.complete(0, files = Map(left -> first))
    assert(deletes(c.complete(1, files = Map(left -> rest(0)))).isEmpty)
    val Seq(delete) = deletes(c.complete(2, files = Map(left -> rest(1)))): @unchecked
    assert(delete.checkpoint == 1 && delete.metadata)
    assert(delete.handles.contains(StoreFile(left, first.ref.handleName)) && delete.handles.size == 2)
    assert(delete.tables.collect { case file @ StoreFile(`left`, _) => file } == Seq(StoreFile(left, old.storedName)))
    assert(c.retained.map(_.id) == Seq(2, 3))
  }

  test("a merged file goes with the checkpoint, when none of its stores names it, and before the table files") {
    val c = coordinator(CoordinatorSettings(retained = 1))
    val place = Some(MergedPlace(clock.next(), 28))
    val first = Map(left -> handle(1, file()).copy(merged = place), right -> handle(1).copy(merged = place))
    val merged = first(left).mergedFile.get
    assert(first(left).mergedFile == first(right).mergedFile)
    c.complete(0, files = first)
    assert(c.isNamed(merged) && !c.isNamed(StoreFile(left, first(left).ref.handleName)))
    val Seq(delete) = deletes(c.complete(1)): @unchecked
    assert(delete.handles == Seq(merged) && delete.tables == first(left).files.map(f => StoreFile(left, f.storedName)))
  }

  test("an attempt that does not count takes no merged file away in which others are still to be acknowledged") {
    val c = coordinator()
    val id = c.plan(0).get
    val place = Some(MergedPlace(clock.next(), 28))
    val second = handle(1, file()).copy(merged = place)
    c.acknowledged(ack(id, left, handle(1)), 0)
    val freed = deletes(c.acknowledged(ack(id, left, second), 0))
    assert(freed.map(_.files) == Seq(second.files.map(f => StoreFile(left, f.storedName))))
    val counts = handle(1).copy(merged = place)
    c.acknowledged(ack(id, right, counts), 0)
    val Seq(Action.Complete(p)) = c.batchCommitted(0, 0): @unchecked
    assert(p.handles(right) == counts && c.isNamed(counts.mergedFile.get))
    c.metadataWritten(id, 50, 0)
    assert(deletes(c.complete(1)).flatMap(_.handles).contains(counts.mergedFile.get))
  }

  test("a checkpoint that is given up takes its merged files along, and what its stores may build on stays") {
    val c = coordinator(CoordinatorSettings(tolerableFailures = 9))
    val id = c.plan(0).get
    val snapshot = handle(1, file()).copy(merged = Some(MergedPlace(clock.next(), 28)))
    c.acknowledged(ack(id, left, snapshot), 0)
    val freed = deletes(c.declined(decline(id, right), 0)).flatMap(_.files)
    assert(freed == snapshot.mergedFile.toSeq && c.isNamed(StoreFile(left, snapshot.files.head.storedName)))
    // Of those that come now nothing is lost either.
    val late = handle(1).copy(merged = snapshot.merged)
    assert(deletes(c.acknowledged(ack(id, right, late), 0)).flatMap(_.files) == late.mergedFile.toSeq)
  }

  test("logs are purged below the oldest retained checkpoint") {
    val c = coordinator(CoordinatorSettings(retained = 2))
    assert(c.complete(3).contains(Purge(3)))
    assert(!c.complete(5).exists(_.isInstanceOf[Purge]))
    assert(c.complete(8).contains(Purge(5)))
  }

  test("an older checkpoint that is being written may still become the oldest: its logs stay") {
    val c = coordinator(CoordinatorSettings(retained = 2, maxConcurrent = 2))
    c.plan(5)
    c.plan(6)
    Seq(1L, 2L).foreach(id => both.foreach(store => c.acknowledged(ack(id, store, handle(id + 5)), 0)))
    assert(c.batchCommitted(6, 0).size == 2)
    assert(c.metadataWritten(2, 1, 0) == Seq(Purge(5)))
    c.metadataWritten(1, 1, 0)
    assert(c.retained.map(_.id) == Seq(1, 2))
  }

  test("savepoints neither fill the number retained, nor go, nor are subsumed") {
    val c = coordinator(CoordinatorSettings(maxConcurrent = 3))
    c.requested(CheckpointProperties.Savepoint)
    c.complete(0)
    assert(c.savepoints.map(_.id) == Seq(1) && c.retained.isEmpty)
    c.requested(CheckpointProperties.Savepoint)
    assert(c.plan(1).contains(2L))
    c.complete(2)
    assert(c.inProgress.map(_.id) == Seq(2))
    c.complete(3)
    assert(c.savepoints.map(_.id) == Seq(1) && c.retained.map(_.id) == Seq(4))
    Ending.all.foreach(how => assert(!CheckpointProperties.Savepoint.discardedWhen(how)))
  }

  test("a person may do away with a checkpoint: what its stores build on stays") {
    val c = coordinator(CoordinatorSettings(retained = 2))
    c.requested(CheckpointProperties.Savepoint)
    val old = handle(4, file())
    c.complete(3, files = Map(left -> old))
    c.complete(4)
    c.complete(5)
    val Seq(Delete(1, true, handles, tables)) = c.disposed(1): @unchecked
    assert(handles.size == 2 && names(left, old).subsetOf((handles ++ tables).toSet))
    assert(c.savepoints.isEmpty && c.disposed(1).isEmpty && c.disposed(99).isEmpty)
    val newest = c.retained.last
    assert(c.disposed(3) == Seq(Delete(3, true, Nil, Nil)) && newest.names.forall(c.isNamed))
    c.complete(6)
    assert(!newest.names.exists(c.isNamed))
  }

  test("a checkpoint that completes subsumes older ones in progress; a savepoint does not") {
    for (savepoint <- Seq(false, true)) {
      val c = coordinator(CoordinatorSettings(maxConcurrent = 2))
      c.plan(0)
      val lone = handle(1, file())
      c.acknowledged(ack(1, left, lone), 0)
      if (savepoint) c.requested(CheckpointProperties.Savepoint)
      val actions = c.complete(1)
      assert(c.inProgress.map(_.id) == (if (savepoint) Seq(1) else Nil))
      if (!savepoint) {
        val Abort(p, FailureReason.Subsumed, _) = actions.head: @unchecked
        assert(p.id == 1)
        assert(deletes(actions).flatMap(_.files).toSet == names(left, lone))
      }
    }
  }

  test("timeouts run from the end of the batch; what is being written does not expire") {
    val c = coordinator(CoordinatorSettings(timeoutMs = 100, tolerableFailures = 9))
    c.plan(0, 0)
    assert(c.tick(10000).isEmpty, "a long batch is no failure")
    c.batchCommitted(0, 10000)
    assert(c.tick(10100).isEmpty)
    val Seq(Abort(p, reason, message)) = c.tick(10101): @unchecked
    assert(p.id == 1 && reason == FailureReason.Expired && message.startsWith("2 of 2"))
    c.plan(1, 10200)
    both.foreach(store => c.acknowledged(ack(2, store, handle(2)), 10200))
    assert(c.batchCommitted(1, 10200).size == 1)
    assert(c.tick(99999).isEmpty)
    assert(c.metadataWritten(2, 1, 99999).contains(Purge(1)))
  }

  test("a decline gives the checkpoint up; its files go, but for those the store builds its next snapshot on") {
    val c = coordinator(CoordinatorSettings(tolerableFailures = 9))
    c.plan(0)
    val first = handle(1, file())
    c.acknowledged(ack(1, left, first), 0)
    assert(c.mayReuse(ack(1, left, first)))
    val actions = c.declined(decline(1, right), 0)
    assert(actions.collect { case Abort(p, FailureReason.AsyncFailure, m) => (p.id, m) } ==
      Seq((1, s"$right: No room.")))
    assert(deletes(actions).isEmpty && names(left, first).forall(c.isNamed))
    // The next one reuses none of them.
    c.plan(1)
    val second = handle(2, file())
    assert(deletes(c.acknowledged(ack(2, left, second), 0)).flatMap(_.files).toSet == names(left, first))
    assert(c.mayReuse(ack(2, left, second)) && !c.mayReuse(ack(1, left, first)))
  }

  test("acknowledgements that overtake each other free nothing the other one names") {
    val c = coordinator(CoordinatorSettings(maxConcurrent = 3, tolerableFailures = 9))
    val shared = file()
    c.plan(0)
    c.acknowledged(ack(1, left, handle(1, shared)), 0)
    c.declined(decline(1, right), 0)
    c.plan(1)
    c.plan(2)
    assert(c.acknowledged(ack(3, left, handle(3, file())), 0).isEmpty)
    assert(c.isNamed(StoreFile(left, shared.storedName)), "checkpoint 2 may have been built on it")
    val freed = deletes(c.acknowledged(ack(2, left, handle(2, shared)), 0)).flatMap(_.files)
    assert(freed.size == 1 && freed.head.toString.endsWith(".handle"))
    assert(c.isNamed(StoreFile(left, shared.storedName)))
  }

  test("of two attempts the first counts; the other is told to build on nothing, and its files go") {
    val c = coordinator()
    c.plan(0)
    val (first, second) = (handle(1, file()), handle(1, file()))
    c.acknowledged(ack(1, left, first), 0)
    val again = deletes(c.acknowledged(ack(1, left, second), 0))
    assert(again.flatMap(_.files).toSet == names(left, second))
    assert(!c.mayReuse(ack(1, left, second)) && c.mayReuse(ack(1, left, first)))
    assert(c.inProgress.head.handles(left) == first && c.dropped.duplicate == 1)
    // The same message again.
    assert(c.acknowledged(ack(1, left, first), 0).isEmpty && c.dropped.duplicate == 2)
    assert(c.declined(decline(1, left), 0).isEmpty && c.dropped.duplicate == 3)
  }

  test("stale, foreign and late acknowledgements change nothing; what they brought goes") {
    val c = coordinator(CoordinatorSettings(tolerableFailures = 9))
    c.complete(0)
    c.plan(1)
    val before = c.inProgress
    val lone = handle(2, file())
    assert(c.acknowledged(Acknowledgement("other", "r", 2, left, lone), 0).isEmpty)
    assert(c.acknowledged(ack(77, left, lone), 0).isEmpty)
    assert(c.declined(decline(77, left), 0).isEmpty)
    assert(c.declined(decline(2, StoreId(9, 9, "x")), 0).isEmpty)
    assert(c.dropped == Dropped(foreign = 4))
    assert(deletes(c.acknowledged(ack(2, left, lone, run = "before"), 0)).flatMap(_.files).toSet == names(left, lone))
    assert(c.dropped.stale == 1 && c.inProgress == before)
    c.declined(decline(2, right), 0)
    val late = handle(2, file())
    assert(
      deletes(c.acknowledged(ack(2, left, late), 0)).forall(!_.files.exists(names(left, late))),
      "it is the newest"
    )
    assert(c.dropped.late == 1 && c.mayReuse(ack(2, left, late)))
    assert(deletes(c.ended(Ending.Suspended, 0)).flatMap(_.files).toSet == names(left, late))
    assert(!c.mayReuse(ack(2, left, late)))
  }

  test("nothing is deleted before the folder is known") {
    val c = new CheckpointCoordinator("q", CoordinatorSettings())
    assert(c.acknowledged(ack(1, left, handle(1, file())), 0).isEmpty && c.dropped.foreign == 1)
    assert(c.plan(0).isEmpty && c.batchCommitted(0, 0).isEmpty && c.tick(0).isEmpty &&
      c.ended(Ending.Failed, 0).isEmpty)
    assert(c.metadataWritten(1, 1, 1).isEmpty && c.writeFailed(1, "", 1).isEmpty)
  }

  test("metadata that could not be written may be there: it goes before its files") {
    val c = coordinator(CoordinatorSettings(tolerableFailures = 9))
    c.plan(0)
    both.foreach(store => c.acknowledged(ack(1, store, handle(1, file())), 0))
    c.batchCommitted(0, 0)
    val Seq(Abort(p, FailureReason.FinalizeFailure, "No room."), Delete(1, true, handles, _)) =
      c.writeFailed(1, "No room.", 0): @unchecked
    assert(p.id == 1 && handles.isEmpty, "the stores build on them")
    assert(c.metadataWritten(1, 1, 0).isEmpty && c.retained.isEmpty)
  }

  test("a restart gives up what is in progress, but not what is being written") {
    val c = coordinator(CoordinatorSettings(maxConcurrent = 2))
    c.plan(0)
    both.foreach(store => c.acknowledged(ack(1, store, handle(1, file())), 0))
    c.batchCommitted(0, 0)
    c.plan(1)
    val lone = handle(2, file())
    c.acknowledged(ack(2, left, lone), 0)
    val actions = c.started("r2", Nil, 0, None, 5)
    assert(actions.collect { case Abort(p, reason, _) => (p.id, reason) } == Seq((2, FailureReason.Restarted)))
    assert(deletes(actions).flatMap(_.files).toSet == names(left, lone))
    assert(c.inProgress.map(_.id) == Seq(1))
    c.metadataWritten(1, 1, 6)
    assert(c.retained.map(_.id) == Seq(1))
    assert(c.plan(1, 7).contains(3L), "numbers go up")
  }

  test("a restart finds the folder as it is: what was written counts, what was set aside is left alone") {
    val c = coordinator(CoordinatorSettings(retained = 2))
    c.complete(0)
    c.complete(1)
    val Seq(one, two) = c.retained: @unchecked
    assert(c.started("r2", Seq(one), 8, Some(1), 0).isEmpty)
    assert(c.retained == Seq(one) && !two.names.exists(c.isNamed))
    assert(c.plan(2).contains(9L), "above every number in the folder")
    // Written, but the driver was not told.
    both.foreach(store => c.acknowledged(ack(9, store, handle(3, file()), "r2"), 0))
    val Seq(Complete(p)) = c.batchCommitted(2, 0): @unchecked
    assert(c.started("r3", Seq(one, p.completed(0, 9)), 9, Some(1), 0).isEmpty)
    assert(c.inProgress.isEmpty && c.retained.map(_.id) == Seq(1, 9))
    assert(c.metadataWritten(9, 9, 0).isEmpty && c.writeFailed(9, "", 0).isEmpty)
  }

  test("more than the number retained may be found; the next completion takes the surplus") {
    val found = (1L to 3).map { id =>
      val handles = both.map(_ -> handle(id, file())).toMap
      CompletedCheckpoint(id, "old", id, CheckpointProperties.RetainedOnCancellation, handles, 0, 0, 0, 1)
    }
    val c = new CheckpointCoordinator("q", CoordinatorSettings())
    assert(c.started("r", found, 3, Some(3), 0).isEmpty && c.retained.map(_.id) == Seq(1, 2, 3))
    val gone = deletes(c.complete(9))
    assert(gone.map(d => (d.checkpoint, d.metadata)) == Seq((1, true), (2, true), (3, true)))
    assert(gone.flatMap(_.files).toSet == found.flatMap(_.names).toSet)
  }

  test("an end takes what its policy says, and leaves what people keep") {
    for (policy <- RetentionPolicy.all; how <- Ending.all) {
      val c = coordinator(CoordinatorSettings(retention = policy))
      c.complete(0)
      val all = c.retained.head.names.toSet
      val actions = c.ended(how, 0)
      val goes = policy.properties.discardedWhen(how)
      assert(c.retained.isEmpty == goes, s"$policy $how")
      assert(deletes(actions).flatMap(_.files).toSet == (if (goes) all else Set.empty), s"$policy $how")
      assert(deletes(actions).exists(_.metadata) == goes)
      assert(c.plan(1).isEmpty && c.ended(how, 0).isEmpty)
    }
  }

  test("what is being written when the query ends is discarded as soon as it exists") {
    val c = coordinator(CoordinatorSettings(retention = RetentionPolicy.NeverRetainAfterTermination))
    c.plan(0)
    both.foreach(store => c.acknowledged(ack(1, store, handle(1, file())), 0))
    val Seq(Complete(p)) = c.batchCommitted(0, 0): @unchecked
    assert(c.ended(Ending.Canceled, 0).isEmpty)
    val Seq(Delete(1, true, handles, tables)) = c.metadataWritten(1, 1, 0): @unchecked
    assert((handles ++ tables).toSet == p.completed(0, 0).names.toSet)
  }

  test("the query fails when more checkpoints in a row fail than it tolerates") {
    def fails(actions: Seq[Action]): Boolean = actions.exists(_.isInstanceOf[FailQuery])
    val c = coordinator(CoordinatorSettings(tolerableFailures = 1))
    def failOne(batch: Long, reason: FailureReason): Boolean = {
      val id = c.plan(batch).get
      fails(c.declined(decline(id, left, reason), 0))
    }
    assert(!failOne(0, FailureReason.AsyncFailure))
    assert(!failOne(1, FailureReason.NotReady), "it does not count")
    c.complete(2)
    assert(!failOne(3, FailureReason.AsyncFailure), "a success wipes the slate")
    assert(failOne(4, FailureReason.StorageFailure))
    assert(!failOne(5, FailureReason.AsyncFailure), "so does the failure of the query")
  }

  test("savepoints fail the query only where it would stand still") {
    def fails(actions: Seq[Action]): Boolean = actions.exists(_.isInstanceOf[FailQuery])
    val c = coordinator()
    c.requested(CheckpointProperties.Savepoint)
    c.plan(0)
    c.batchCommitted(0, 0)
    assert(!fails(c.tick(Long.MaxValue / 2)), "whoever asked hears of it")
    c.requested(CheckpointProperties.SyncSavepoint)
    val id = c.plan(1).get
    assert(fails(c.declined(decline(id, left, FailureReason.NotReady), 0)))
  }

  /** A batch without a checkpoint, behind one that has it, and committed at 20. */
  private def lagging(settings: CoordinatorSettings = CoordinatorSettings(intervalMs = Some(100))) = {
    val c = coordinator(settings)
    c.complete(0, 10)
    assert(c.plan(1, 15).isEmpty && c.lagging.isEmpty && c.uncommitted.contains(1L))
    c.batchCommitted(1, 20)
    assert(c.lagging.exists(b => b.batch == 1 && b.committedMs.contains(20L)) && c.uncommitted.isEmpty)
    c
  }

  test("between two batches: one checkpoint of the newest, when it is due, and it needs no other commit") {
    val c = lagging()
    assert(c.betweenBatches(last = false, savepoints = true, 109).isEmpty)
    val p = c.betweenBatches(last = false, savepoints = true, 110).get
    assert(p.id == 2 && p.batch == 1 && p.expected == both && p.committedMs.contains(20L) && c.lagging.isEmpty)
    assert(c.betweenBatches(last = true, savepoints = true, 900).isEmpty)
    c.acknowledged(ack(2, left, handle(2)), 120)
    val Seq(Complete(whole)) = c.acknowledged(ack(2, right, handle(2)), 130): @unchecked
    assert(whole.batch == 1 && c.metadataWritten(2, 5, 140).contains(Purge(1)))
    assert(c.retained.map(_.batch) == Seq(1))
    // It counts for the interval.
    assert(c.plan(2, 209).isEmpty && c.plan(3, 210).isDefined)
  }

  test(
    "between two batches: nothing of a batch that is not committed, of one that was a barrier, or when another is planned"
  ) {
    val c = coordinator()
    c.plan(0)
    c.batchCommitted(0, 1)
    assert(c.lagging.isEmpty, "it has a checkpoint, in progress")
    val d = lagging()
    d.plan(2, 30)
    assert(d.betweenBatches(last = true, savepoints = true, 40).isEmpty)
    val e = lagging()
    e.ended(Ending.Suspended, 30)
    assert(e.betweenBatches(last = true, savepoints = true, 40).isEmpty)
    assert(new CheckpointCoordinator(
      "q",
      CoordinatorSettings()
    ).betweenBatches(last = true, savepoints = true, 0).isEmpty)
  }

  test(
    "the last batch of a query is due whatever the interval and the pause, but not beside as many as may be in progress"
  ) {
    assert(lagging(CoordinatorSettings(intervalMs = Some(1000000), minPauseMs = 1000000))
      .betweenBatches(last = true, savepoints = true, 21).isDefined)
    val c = coordinator(CoordinatorSettings(intervalMs = Some(1000000)))
    c.plan(0)
    c.plan(1)
    c.batchCommitted(1, 20)
    assert(c.betweenBatches(last = true, savepoints = true, 21).isEmpty)
  }

  test("between two batches people get what they ask for; a savepoint only where it may be of such a barrier") {
    val c = lagging()
    val (request, _) = c.requested(CheckpointProperties.Savepoint)
    assert(c.betweenBatches(last = false, savepoints = false, 30).isEmpty)
    val p = c.betweenBatches(last = false, savepoints = true, 30).get
    assert(p.requests == Seq(request) && p.properties.isSavepoint)
  }

  test(
    "a batch that begins meanwhile gives such a checkpoint up: nobody's failure, and whoever asked gets the next barrier's"
  ) {
    val c = lagging(CoordinatorSettings(intervalMs = Some(100), tolerableFailures = 0))
    val (request, _) = c.requested(CheckpointProperties.RetainedOnCancellation)
    val p = c.betweenBatches(last = false, savepoints = true, 30).get
    assert(p.requests == Seq(request))
    val actions = c.declined(decline(p.id, left, FailureReason.NotReady), 31)
    assert(actions.collect { case Abort(given, _, _) => given.requests } == Seq(Nil))
    assert(!actions.exists(_.isInstanceOf[FailQuery]) && c.lagging.isEmpty, "once a barrier")
    val id = c.plan(2, 32).get
    assert(c.inProgress.find(_.id == id).exists(_.requests == Seq(request)))
  }

  test("a failure of such a checkpoint counts like any other") {
    val c = lagging(CoordinatorSettings(intervalMs = Some(100), tolerableFailures = 0))
    val (request, _) = c.requested(CheckpointProperties.RetainedOnCancellation)
    val p = c.betweenBatches(last = false, savepoints = true, 30).get
    val actions = c.declined(decline(p.id, left), 31)
    assert(actions.exists(_.isInstanceOf[FailQuery]))
    assert(actions.collect { case Abort(given, _, _) => given.requests } == Seq(Seq(request)))
  }

  test(
    "people who ask when no batch follows a checkpoint get another of the same snapshots, which outlives the first"
  ) {
    val c = coordinator(CoordinatorSettings(intervalMs = Some(1000000), retained = 1))
    val made = both.map(_ -> handle(1, file())).toMap
    val handles = made.map { case (store, handle) => store -> handle.again }
    assert(made(left).uploadedBytes > 0 && handles(left).uploadedBytes == 0)
    c.complete(0, 10, made)
    assert(c.repeated(0, savepoints = true, 20).isEmpty, "nobody asks")
    val (request, _) = c.requested(CheckpointProperties.RetainedOnCancellation)
    assert(c.repeated(pauseMs = 500, savepoints = true, 509).isEmpty, "a batch may follow")
    val Seq(Complete(p)) = c.repeated(pauseMs = 500, savepoints = true, 510): @unchecked
    assert(p.id == 2 && p.batch == 0 && p.requests == Seq(request) && p.handles == handles)
    assert(c.repeated(pauseMs = 500, savepoints = true, 520).isEmpty)
    // The first one goes, and not a file with it.
    assert(deletes(c.metadataWritten(2, 50, 530)) == Seq(Delete(1, metadata = true, Nil, Nil)))
    assert(c.retained.map(_.id) == Seq(2))

    c.requested(CheckpointProperties.Savepoint)
    assert(c.repeated(0, savepoints = false, 540).isEmpty)
    val Seq(Complete(savepoint)) = c.repeated(0, savepoints = true, 540): @unchecked
    assert(savepoint.properties.isSavepoint && savepoint.handles == handles)
    c.writeFailed(savepoint.id, "No room.", 550)
    // What people ask for is no barrier's: the interval runs from the periodic one.
    assert(c.plan(1, 1000009).isEmpty && c.plan(2, 1000010).isDefined)
  }

  test(
    "nothing is repeated of a barrier whose batch runs, whose checkpoint is on its way, or of a run that is over"
  ) {
    def asked(c: CheckpointCoordinator): Boolean = {
      c.requested(CheckpointProperties.RetainedOnCancellation)
      c.repeated(0, savepoints = true, 100).nonEmpty
    }
    val running = coordinator(CoordinatorSettings(intervalMs = Some(1000)))
    running.complete(0)
    running.plan(1, 10)
    assert(!asked(running))
    val onItsWay = coordinator()
    onItsWay.plan(0)
    onItsWay.batchCommitted(0, 0)
    assert(!asked(onItsWay))
    val ended = coordinator()
    ended.complete(0)
    ended.ended(Ending.Suspended, 10)
    assert(!asked(ended))
    val fresh = coordinator()
    assert(!asked(fresh))
    val plain = coordinator()
    plain.complete(0)
    assert(asked(plain))
  }

  test("a query without state has checkpoints of its offsets") {
    val c = coordinator()
    assert(c.batchPlanned(0, Set.empty, 0).contains(1L))
    assert(c.batchCommitted(0, 0).size == 1)
  }
}
