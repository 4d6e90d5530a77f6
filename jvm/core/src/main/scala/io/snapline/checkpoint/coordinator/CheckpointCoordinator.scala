package io.snapline.checkpoint.coordinator

import io.snapline.checkpoint._
import io.snapline.checkpoint.history.CheckpointHistory

/** Decides about the checkpoints of one query: when one is triggered, completed, aborted or deleted.
  *
  * A state machine without threads, clock or files: each event takes the time and returns actions. The driver calls it
  * from several threads under one lock, and does the actions in the order given. `Complete` comes back as
  * `metadataWritten` or `writeFailed`. Until then that checkpoint can be neither aborted nor forgotten: it may exist
  * already.
  *
  * It keeps which files may be deleted (`SharedFileRegistry`). Files that were never acknowledged are unknown to it,
  * and it leaves them alone.
  *
  * @param query
  *   the query's id, as Spark keeps it in the checkpoint folder
  */
final class CheckpointCoordinator(val query: String, val settings: CoordinatorSettings) {
  private val files = new SharedFileRegistry
  private val newest = new NewestHandles(files)
  private val schedule = new TriggerSchedule(settings)
  private val failures = new FailureCounter(settings.tolerableFailures)
  private val pending = new PendingCheckpoints
  private val completed = new CompletedCheckpoints
  private val run = new CurrentRun
  private val barriers = new Barriers

  val history = new CheckpointHistory

  private val acknowledgements =
    new Acknowledgements(query, run, barriers, pending, completed, newest, files, history)

  def inProgress: Seq[PendingCheckpoint] = pending.toSeq

  /** Completed checkpoints the system answers for, the oldest first. */
  def retained: Seq[CompletedCheckpoint] = completed.retained

  def savepoints: Seq[CompletedCheckpoint] = completed.savepoints

  /** Whether the file must not be deleted now. */
  def isNamed(file: NamedFile): Boolean = files.names(file)

  def dropped: Dropped = acknowledgements.dropped

  /** Whether checkpoints are taken: not between a run that has failed and the next one. */
  def isRunning: Boolean = run.isRunning

  /** Whether one is being written, which nothing can stop. */
  def isCompleting: Boolean = pending.toSeq.exists(_.completing)

  /** A run begins, the first or one after a failure: nothing that was in progress can complete any more, except what is
    * being written.
    *
    * Nothing more than the number retained is removed before the next checkpoint completes: what was found may prove
    * damaged.
    *
    * @param found
    *   every sound checkpoint in the query's folder. One that was completed before and is not among them was
    *   quarantined, and its files are left alone
    * @param highestId
    *   greatest number of a checkpoint in the folder, whole or not
    * @param restored
    *   the one of them that the stores load first; None: they begin empty
    */
  def started(
      run: String,
      found: Seq[CompletedCheckpoint],
      highestId: Long,
      restored: Option[Long],
      nowMs: Long
  ): Seq[Action] = {
    val released = new Released(files)
    val over = abandon(FailureReason.Restarted, nowMs, released)
    val setAside = completed.found(found)
    found.foreach(checkpoint => files.hold(Holder.OfCheckpoint(checkpoint.id), checkpoint.names))
    newest.release().foreach { case (id, freed) => released.add(id, freed) }
    // Last, so that no file of a quarantined checkpoint counts as released.
    setAside.foreach(id => files.release(Holder.OfCheckpoint(id)))
    // Its metadata was whole when the folder was read: the write has succeeded.
    for (p <- pending.toSeq; checkpoint <- completed.get(p.id)) {
      history.completed(p, checkpoint)
      pending.remove(p.id)
    }
    restored.flatMap(completed.get).foreach { base =>
      base.handles.foreach { case (store, handle) => newest.acknowledged(store, base.id, handle) }
      history.restored(base, nowMs)
    }
    this.run.begins(run, completed.ids + highestId)
    barriers.restarted()
    schedule.restarted()
    failures.reset()
    over ++ released.deletions
  }

  /** A batch is planned whose stores are `expected`; returns the checkpoint to be taken at its end. Planned again in
    * the same run, it is the same barrier.
    *
    * @param mayBeAhead
    *   those of them that may answer with a snapshot of a later batch, if it is not a savepoint
    */
  def batchPlanned(
      batch: Long,
      expected: Set[StoreId],
      nowMs: Long,
      mayBeAhead: Set[StoreId] = Set.empty
  ): Option[Long] = barriers.newest match {
    case _ if !isRunning => None
    case Some(last) if batch < last.batch => None
    case Some(last) if batch == last.batch =>
      val same = last.checkpoint.flatMap(pending.get).filterNot(p => p.completing || p.afterCommit)
      same.foreach(p => pending.put(p.copy(expected = p.expected ++ expected)))
      same.map(_.id)
    case _ =>
      val due = schedule.due(pending.size, nowMs)
      val barrier = barriers.planned(batch, expected)
      due.map { case (properties, asked) => trigger(barrier, properties, asked, nowMs, mayBeAhead).id }
  }

  private def trigger(
      barrier: Barrier,
      properties: CheckpointProperties,
      asked: Seq[Long],
      nowMs: Long,
      mayBeAhead: Set[StoreId] = Set.empty
  ): PendingCheckpoint = {
    val triggered = PendingCheckpoint(
      run.nextCheckpoint(),
      run.id.get,
      barrier.batch,
      properties,
      barrier.expected,
      nowMs,
      if (properties.isSavepoint) Set.empty else mayBeAhead,
      asked,
      committedMs = barrier.committedMs
    )
    history.triggered(triggered)
    barriers.triggered(triggered.id)
    pending.put(triggered)
  }

  /** The newest checkpoint that a store may answer at this barrier or a later one; the answer counts for older ones as
    * well.
    */
  def owed: Option[Long] = if (isRunning) pending.owed else None

  /** The newest batch, if its commit was not heard of. */
  def uncommitted: Option[Long] = barriers.uncommitted.filter(_ => isRunning)

  /** Checkpoints in progress whose batches are all committed: only stores, or the write of the metadata, are waited
    * for.
    */
  def finishing: Seq[PendingCheckpoint] = inProgress.filter(_.newestBatch <= barriers.committed)

  /** The newest barrier, if its batch is committed and no checkpoint was triggered of it. */
  def lagging: Option[Barrier] = barriers.lagging.filter(_ => isRunning)

  /** Nothing runs, and the stores of the newest barrier are there still: returns the checkpoint to be taken of what
    * they hold, if one is due. A barrier has one such attempt.
    *
    * @param last
    *   no batch follows, so that it is due whatever the interval is
    * @param savepoints
    *   whether people's savepoints may be of it
    */
  def betweenBatches(last: Boolean, savepoints: Boolean, nowMs: Long): Option[PendingCheckpoint] =
    for {
      barrier <- lagging
      (properties, asked) <- schedule.due(pending.size, nowMs, last, savepoints)
    } yield pending.put(trigger(barrier, properties, asked, nowMs).copy(afterCommit = true))

  /** No batch follows the newest barrier, and it has a checkpoint already: what people wait for is of the same
    * snapshots, for no store makes one twice.
    *
    * @param pauseMs
    *   since its commit
    * @param savepoints
    *   whether people's savepoints may be of it
    */
  def repeated(pauseMs: Long, savepoints: Boolean, nowMs: Long): Seq[Action] =
    (for {
      // Asked at every tick: where nobody waits, nothing is looked through.
      barrier <- barriers.newest.filter(_ => isRunning && schedule.isAsked).toSeq
      if barrier.committedMs.exists(nowMs - _ >= pauseMs)
      base <- completed.of(run.id.get, barrier)
      (properties, asked) <- schedule.asked(pending.size, savepoints)
    } yield {
      val triggered = trigger(barrier, properties, asked, nowMs)
      val acked = base.handles.map { case (store, handle) => store -> Acked(handle.again, nowMs) }
      val same = pending.put(triggered.copy(acked = acked, afterCommit = true))
      files.hold(Holder.OfCheckpoint(same.id), base.names)
      history.progressed(same)
      pending.completeIfReady(same, barriers.committed)
    }).flatten

  /** A person asks for a checkpoint, and gets a number to recognize it by. It is triggered at the next barrier, however
    * recent the last one is.
    */
  def requested(properties: CheckpointProperties): (Long, Seq[Action]) = {
    val (request, refusal) = schedule.requested(properties, isRunning)
    (request, refusal.map(Action.Refuse(request, _)).toSeq)
  }

  /** The answer to an acknowledgement, asked for right after it was taken: whether the store's next snapshot may reuse
    * the files of this one. A store that was told no, or not told, uploads all of them anew. The only other snapshot it
    * may build on is the one the run was restored from.
    */
  def mayReuse(ack: Acknowledgement): Boolean = acknowledgements.mayReuse(ack)

  /** See `mayReuse` for what the store is answered. */
  def acknowledged(ack: Acknowledgement, nowMs: Long): Seq[Action] = acknowledgements.take(ack, nowMs)

  def declined(decline: Decline, nowMs: Long): Seq[Action] =
    acknowledgements.take(decline).toSeq.flatMap { p =>
      val message = s"${decline.store}: ${decline.message}"
      abort(p, decline.reason, message, nowMs) ++ judge(p, decline.reason, message, inStore = true)
    }

  /** Commits come in the order of batches: one stands for all before it. */
  def batchCommitted(batch: Long, nowMs: Long): Seq[Action] =
    if (!isRunning) Nil
    else {
      barriers.committed(batch, nowMs)
      pending.toSeq.filter(_.batch <= batch).flatMap { p =>
        val committed = pending.put(p.copy(committedMs = p.committedMs.orElse(Some(nowMs))))
        pending.completeIfReady(committed, barriers.committed)
      }
    }

  /** The checkpoint exists. Older ones in progress are subsumed, and older ones beyond the number retained go. */
  def metadataWritten(id: Long, bytes: Long, nowMs: Long): Seq[Action] =
    pending.get(id).filter(_.completing).toSeq.flatMap { p =>
      val checkpoint = p.completed(nowMs, bytes)
      pending.remove(id)
      completed.add(checkpoint)
      schedule.completed(nowMs)
      failures.succeeded(id)
      history.completed(p, checkpoint)
      val subsumed =
        if (p.properties.isSavepoint && !p.properties.isSynchronous) Nil
        else
          pending.toSeq.filter(older => older.id < id && older.canBeSubsumed)
            .flatMap(abort(_, FailureReason.Subsumed, s"Checkpoint $id completed.", nowMs))
      val released = new Released(files)
      retained.dropRight(settings.retained).filter(_.properties.discardSubsumed).foreach(discard(_, released))
      // It was under way when the query ended.
      run.ending.filter(p.properties.discardedWhen).foreach(_ => completed.get(id).foreach(discard(_, released)))
      subsumed ++ released.deletions ++ purge()
    }

  /** The checkpoint does not exist, or must not: part of its metadata may be there, even all of it. */
  def writeFailed(id: Long, message: String, nowMs: Long): Seq[Action] =
    pending.get(id).filter(_.completing).toSeq.flatMap { p =>
      val reason = FailureReason.FinalizeFailure
      abort(p, reason, message, nowMs, metadata = true) ++ judge(p, reason, message, inStore = false)
    }

  def tick(nowMs: Long): Seq[Action] =
    pending.toSeq.filter(_.isExpired(nowMs, settings.timeoutMs)).flatMap { p =>
      val message = s"${p.missing.size} of ${p.expected.size} stores did not answer, ${p.missing.head} among them."
      abort(p, FailureReason.Expired, message, nowMs) ++
        judge(p, FailureReason.Expired, message, inStore = false)
    }

  /** The run has failed, and another one is to follow: no checkpoint is taken or completed until it begins, except what
    * is being written. A recovery chooses one meanwhile, and a newer one would take its files away.
    */
  def interrupted(nowMs: Long): Seq[Action] =
    if (!isRunning) Nil
    else {
      run.interrupted()
      stopped(FailureReason.Restarted, Nil, nowMs)
    }

  /** The query is over and is not started again by itself. */
  def ended(how: Ending, nowMs: Long): Seq[Action] =
    if (!run.hasNotEnded) Nil
    else {
      run.ends(how)
      val reason = if (how == Ending.Suspended) FailureReason.Suspended else FailureReason.Shutdown
      stopped(reason, completed.discardedWhen(how), nowMs)
    }

  /** No store builds on its newest snapshot any more. */
  private def stopped(reason: FailureReason, discarded: Seq[CompletedCheckpoint], nowMs: Long): Seq[Action] = {
    val released = new Released(files)
    val over = abandon(reason, nowMs, released)
    discarded.foreach(discard(_, released))
    newest.release().foreach { case (id, freed) => released.add(id, freed) }
    over ++ released.deletions
  }

  /** A user disposes of a completed checkpoint or a savepoint. Files that a store's next snapshot builds on stay until
    * then.
    */
  def disposed(id: Long): Seq[Action] = completed.get(id).toSeq.flatMap { checkpoint =>
    val released = new Released(files)
    discard(checkpoint, released)
    released.deletions ++ purge()
  }

  /** Aborts every checkpoint in progress whose metadata is not being written, and refuses every request. */
  private def abandon(reason: FailureReason, nowMs: Long, released: Released): Seq[Action] = {
    val aborted = pending.toSeq.filterNot(_.completing)
    aborted.foreach { p =>
      pending.remove(p.id)
      history.failed(p, reason, reason.text, nowMs)
      released.add(p.id, files.release(Holder.OfCheckpoint(p.id)))
    }
    aborted.map(Action.Abort(_, reason, reason.text)) ++ schedule.drain().map(Action.Refuse(_, reason))
  }

  private def abort(
      p: PendingCheckpoint,
      reason: FailureReason,
      message: String,
      nowMs: Long,
      metadata: Boolean = false
  ): Seq[Action] = {
    pending.remove(p.id)
    history.failed(p, reason, message, nowMs)
    val released = new Released(files)
    released.add(p.id, files.release(Holder.OfCheckpoint(p.id)), metadata)
    (Action.Abort(leftOver(p, reason), reason, message) +: released.deletions) ++ acknowledgements.prune(p.missing)
  }

  /** A batch that begins while a checkpoint is taken of the one before is nobody's failure: who asked for it gets the
    * next barrier's.
    */
  private def leftOver(p: PendingCheckpoint, reason: FailureReason): PendingCheckpoint =
    if (p.afterCommit && !reason.counts && isRunning) {
      schedule.takeBack(p)
      p.copy(requests = Nil)
    } else p

  private def judge(p: PendingCheckpoint, reason: FailureReason, message: String, inStore: Boolean): Seq[Action] =
    if (isRunning && failures.failed(p.id, p.properties, reason, inStore)) {
      Seq(Action.FailQuery(p.id, reason, message))
    } else Nil

  private def discard(checkpoint: CompletedCheckpoint, released: Released): Unit = {
    completed.remove(checkpoint.id)
    history.discarded(checkpoint.id)
    released.add(checkpoint.id, files.release(Holder.OfCheckpoint(checkpoint.id)), metadata = true)
  }

  private def purge(): Seq[Action] = {
    val completing = pending.completing.filterNot(_.properties.isSavepoint).map(_.batch)
    completed.purge(completing).map(Action.Purge(_)).toSeq
  }
}
