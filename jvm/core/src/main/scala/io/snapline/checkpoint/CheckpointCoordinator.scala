package io.snapline.checkpoint

import scala.collection.immutable.TreeMap

/** Decides about the checkpoints of one query: when one is triggered, when it is complete, what is given up and what is deleted.
  *
  * A state machine without threads, clock or files: each event takes the time and returns what is to be done. The driver calls it from one thread and does the actions in
  * the order given; `Complete` comes back as `metadataWritten` or `writeFailed`, and until then that checkpoint can be neither given up nor forgotten: it may
  * exist already.
  *
  * It keeps which files may be deleted (`SharedFileRegistry`). Files that were never acknowledged are unknown to it, and it leaves them alone.
  *
  * @param query
  *   id of the query, as Spark keeps it in the checkpoint folder
  */
final class CheckpointCoordinator(val query: String, val settings: CoordinatorSettings) {
  private val files = new SharedFileRegistry
  private val newest = new NewestHandles(files)
  private val schedule = new TriggerSchedule(settings)
  private val failures = new FailureCounter(settings.tolerableFailures)
  private var pending = TreeMap.empty[Long, PendingCheckpoint]
  private val completed = new CompletedCheckpoints
  private var run: Option[String] = None
  private var ending: Option[Ending] = None
  private var lastId = 0L
  private val barriers = new Barriers
  private var drops = Dropped()

  val history = new CheckpointHistory

  def inProgress: Seq[PendingCheckpoint] = pending.values.toSeq

  /** Completed checkpoints the system answers for, the oldest first. */
  def retained: Seq[CompletedCheckpoint] = completed.retained

  def savepoints: Seq[CompletedCheckpoint] = completed.savepoints

  /** Whether the file must not be deleted now. */
  def isNamed(file: NamedFile): Boolean = files.names(file)

  def dropped: Dropped = drops

  private def isRunning: Boolean = run.isDefined && ending.isEmpty

  /** A run begins, the first or one after a failure: nothing that was in progress can complete any more, except what is being written.
    *
    * Nothing more than the number retained is removed before the next checkpoint completes: what was found may prove damaged.
    *
    * @param found
    *   every sound checkpoint in the query's folder; one that was completed before and is not among them was set aside, and its files are left alone
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
    // Last, so that nothing of a checkpoint that was set aside counts as released.
    setAside.foreach(id => files.release(Holder.OfCheckpoint(id)))
    // Its metadata was whole when the folder was read: the write has succeeded.
    for (id <- pending.keySet; checkpoint <- completed.get(id)) {
      history.completed(pending(id), checkpoint)
      pending -= id
    }
    restored.flatMap(completed.get).foreach { base =>
      base.handles.foreach { case (store, handle) => newest.acknowledged(store, base.id, handle) }
      history.restored(base, nowMs)
    }
    this.run = Some(run)
    ending = None
    barriers.restarted()
    schedule.restarted()
    failures.reset()
    lastId = (Seq(lastId, highestId) ++ completed.ids).max
    over ++ released.deletions
  }

  /** A batch is planned whose stores are `expected`; returns the checkpoint to be taken at its end. Planned again in the same run, it is the same barrier.
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
      same.foreach(p => pending += p.id -> p.copy(expected = p.expected ++ expected))
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
    lastId += 1
    val triggered = PendingCheckpoint(
      lastId,
      run.get,
      barrier.batch,
      properties,
      barrier.expected,
      nowMs,
      if (properties.isSavepoint) Set.empty else mayBeAhead,
      asked,
      committedMs = barrier.committedMs
    )
    pending += lastId -> triggered
    history.triggered(triggered)
    barriers.triggered(lastId)
    triggered
  }

  /** The newest checkpoint that a store may answer at this barrier or a later one; the answer counts for older ones as well. */
  def owed: Option[Long] = if (isRunning) pending.values.filter(_.isOwed).map(_.id).maxOption else None

  /** The newest batch, if its commit was not heard of. */
  def uncommitted: Option[Long] = barriers.uncommitted.filter(_ => isRunning)

  /** Checkpoints in progress whose batches are all committed: only stores, or the write of the metadata, are waited for. */
  def finishing: Seq[PendingCheckpoint] = inProgress.filter(_.newestBatch <= barriers.committed)

  /** The newest barrier, if its batch is committed and no checkpoint was triggered of it. */
  def lagging: Option[Barrier] = barriers.lagging.filter(_ => isRunning)

  /** Nothing runs, and the stores of the newest barrier are there still: returns the checkpoint to be taken of what they hold, if one is due. A barrier has one such attempt.
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
    } yield {
      val triggered = trigger(barrier, properties, asked, nowMs).copy(afterCommit = true)
      pending += triggered.id -> triggered
      triggered
    }

  /** No batch follows the newest barrier, and it has a checkpoint already: what people wait for is of the same snapshots, for no store makes one twice.
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
      base <- completed.of(run.get, barrier)
      (properties, asked) <- schedule.asked(pending.size, savepoints)
    } yield {
      val triggered = trigger(barrier, properties, asked, nowMs)
      val acked = base.handles.map { case (store, handle) => store -> Acked(handle.again, nowMs) }
      val same = triggered.copy(acked = acked, afterCommit = true)
      pending += same.id -> same
      files.hold(Holder.OfCheckpoint(same.id), base.names)
      history.progressed(same)
      completeIfReady(same)
    }).flatten

  /** A person asks for a checkpoint, and gets a number to recognize it by. It is triggered at the next barrier, however recent the last one is. */
  def requested(properties: CheckpointProperties): (Long, Seq[Action]) = {
    val (request, refusal) = schedule.requested(properties, isRunning)
    (request, refusal.map(Action.Refuse(request, _)).toSeq)
  }

  /** The answer to an acknowledgement, asked for right after it was taken: whether the store's next snapshot may reuse the files of this one. A store that was told no, or not
    * told, uploads all of them anew. The only other snapshot it may build on is the one the run was restored from.
    */
  def mayReuse(ack: Acknowledgement): Boolean =
    isRunning && ack.query == query && run.contains(ack.run) && newest.isBase(ack.store, ack.handle.ref)

  /** See `mayReuse` for what the store is answered. */
  def acknowledged(ack: Acknowledgement, nowMs: Long): Seq[Action] = {
    val names = ack.handle.names(ack.store)
    // Before anything is known of the folder nothing may be taken for unnamed.
    if (ack.query != query || run.isEmpty) foreign()
    else if (!run.contains(ack.run)) {
      drops = drops.copy(stale = drops.stale + 1)
      free(ack.checkpoint, names)
    } else if (ack.checkpoint > lastId) foreign()
    else {
      holdMerged(ack)
      // The checkpoint it is for, and older ones that a store may answer late.
      val waiting = pending.values.filter(p => p.id <= ack.checkpoint && p.awaits(ack)).toSeq
      if (waiting.nonEmpty) accept(ack, waiting, nowMs) else notAwaited(ack)
    }
  }

  /** Stores that a checkpoint still waits for may be about to name the same merged file, also by what is meant for a later one. */
  private def holdMerged(ack: Acknowledgement): Unit =
    pending.values.filter(p => p.id == ack.checkpoint || p.id < ack.checkpoint && p.isOwed)
      .foreach(p => files.hold(Holder.OfCheckpoint(p.id), ack.handle.mergedFile))

  private def notAwaited(ack: Acknowledgement): Seq[Action] = pending.get(ack.checkpoint) match {
    case Some(p) if p.acked.contains(ack.store) => again(ack, p.acked(ack.store).handle)
    case Some(_) =>
      foreign()
      superfluous(ack)
    case None =>
      completed.get(ack.checkpoint).flatMap(_.handles.get(ack.store)) match {
        case Some(handle) => again(ack, handle)
        case None =>
          drops = drops.copy(late = drops.late + 1)
          superfluous(ack)
      }
  }

  private def accept(ack: Acknowledgement, waiting: Seq[PendingCheckpoint], nowMs: Long): Seq[Action] = {
    val accepted = waiting.map { p =>
      val acked = p.copy(acked = p.acked + (ack.store -> Acked(ack.handle, nowMs)))
      pending += p.id -> acked
      files.hold(Holder.OfCheckpoint(p.id), ack.handle.names(ack.store))
      history.progressed(acked)
      acked
    }
    newest.acknowledged(ack.store, ack.checkpoint, ack.handle)
    prune(Set(ack.store)) ++ accepted.flatMap(completeIfReady)
  }

  /** The same message again, or that of a second attempt of the task: the first one counts. */
  private def again(ack: Acknowledgement, first: StateHandle): Seq[Action] = {
    drops = drops.copy(duplicate = drops.duplicate + 1)
    if (first.ref == ack.handle.ref) Nil else superfluous(ack)
  }

  /** No checkpoint will name this snapshot, but its store may build the next one on it if it is the newest. */
  private def superfluous(ack: Acknowledgement): Seq[Action] = {
    if (isRunning) newest.acknowledged(ack.store, ack.checkpoint, ack.handle)
    prune(Set(ack.store)) ++ free(ack.checkpoint, ack.handle.names(ack.store))
  }

  private def prune(stores: Set[StoreId]): Seq[Action] = {
    val released = new Released(files)
    stores.foreach { store =>
      val awaited = pending.values.find(p => p.expected(store) && !p.acked.contains(store)).map(_.id)
      newest.prune(store, awaited).foreach { case (id, freed) => released.add(id, freed) }
    }
    released.deletions
  }

  private def free(checkpoint: Long, names: Seq[NamedFile]): Seq[Action] = {
    val released = new Released(files)
    released.add(checkpoint, names)
    released.deletions
  }

  private def foreign(): Seq[Action] = {
    drops = drops.copy(foreign = drops.foreign + 1)
    Nil
  }

  def declined(decline: Decline, nowMs: Long): Seq[Action] =
    if (decline.query != query || run.isEmpty || decline.checkpoint > lastId) foreign()
    else if (!run.contains(decline.run)) {
      drops = drops.copy(stale = drops.stale + 1)
      Nil
    } else
      pending.get(decline.checkpoint) match {
        case Some(p) if !p.expected(decline.store) => foreign()
        case Some(p) if p.completing || p.acked.contains(decline.store) =>
          drops = drops.copy(duplicate = drops.duplicate + 1)
          Nil
        case Some(p) =>
          val message = s"${decline.store}: ${decline.message}"
          abort(p, decline.reason, message, nowMs) ++ judge(p, decline.reason, message, inStore = true)
        case None =>
          drops = drops.copy(late = drops.late + 1)
          Nil
      }

  /** Commits come in the order of batches: one stands for all before it. */
  def batchCommitted(batch: Long, nowMs: Long): Seq[Action] =
    if (!isRunning) Nil
    else {
      barriers.committed(batch, nowMs)
      pending.values.toSeq.filter(_.batch <= batch).flatMap { p =>
        val committed = p.copy(committedMs = p.committedMs.orElse(Some(nowMs)))
        pending += p.id -> committed
        completeIfReady(committed)
      }
    }

  private def completeIfReady(p: PendingCheckpoint): Seq[Action] =
    if (!p.isReady(barriers.committed)) Nil
    else {
      val completing = p.copy(completing = true)
      pending += p.id -> completing
      Seq(Action.Complete(completing))
    }

  /** The checkpoint exists. Older ones in progress are subsumed, and older ones beyond the number retained go. */
  def metadataWritten(id: Long, bytes: Long, nowMs: Long): Seq[Action] =
    pending.get(id).filter(_.completing).toSeq.flatMap { p =>
      val checkpoint = p.completed(nowMs, bytes)
      pending -= id
      completed.add(checkpoint)
      schedule.completed(nowMs)
      failures.succeeded(id)
      history.completed(p, checkpoint)
      val subsumed =
        if (p.properties.isSavepoint && !p.properties.isSynchronous) Nil
        else
          pending.values.toSeq.filter(older => older.id < id && older.canBeSubsumed)
            .flatMap(abort(_, FailureReason.Subsumed, s"Checkpoint $id completed.", nowMs))
      val released = new Released(files)
      retained.dropRight(settings.retained).filter(_.properties.discardSubsumed).foreach(discard(_, released))
      // It was under way when the query ended.
      ending.filter(p.properties.discardedWhen).foreach(_ => completed.get(id).foreach(discard(_, released)))
      subsumed ++ released.deletions ++ purge()
    }

  /** The checkpoint does not exist, or must not: part of its metadata may be there, even all of it. */
  def writeFailed(id: Long, message: String, nowMs: Long): Seq[Action] =
    pending.get(id).filter(_.completing).toSeq.flatMap { p =>
      val reason = FailureReason.FinalizeFailure
      abort(p, reason, message, nowMs, metadata = true) ++ judge(p, reason, message, inStore = false)
    }

  def tick(nowMs: Long): Seq[Action] =
    pending.values.toSeq.filter(_.isExpired(nowMs, settings.timeoutMs)).flatMap { p =>
      val message = s"${p.missing.size} of ${p.expected.size} stores did not answer, ${p.missing.head} among them."
      abort(p, FailureReason.Expired, message, nowMs) ++
        judge(p, FailureReason.Expired, message, inStore = false)
    }

  /** The query is over and is not started again by itself. */
  def ended(how: Ending, nowMs: Long): Seq[Action] =
    if (!isRunning) Nil
    else {
      ending = Some(how)
      val released = new Released(files)
      val over =
        abandon(if (how == Ending.Suspended) FailureReason.Suspended else FailureReason.Shutdown, nowMs, released)
      completed.discardedWhen(how).foreach(discard(_, released))
      newest.release().foreach { case (id, freed) => released.add(id, freed) }
      over ++ released.deletions
    }

  /** A person does away with a completed checkpoint or a savepoint. What a store's next snapshot builds on stays until then. */
  def disposed(id: Long): Seq[Action] = completed.get(id).toSeq.flatMap { checkpoint =>
    val released = new Released(files)
    discard(checkpoint, released)
    released.deletions ++ purge()
  }

  /** Gives up all that is in progress and not yet being written, and every request. */
  private def abandon(reason: FailureReason, nowMs: Long, released: Released): Seq[Action] = {
    val aborted = pending.values.filterNot(_.completing).toSeq
    aborted.foreach { p =>
      pending -= p.id
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
    pending -= p.id
    history.failed(p, reason, message, nowMs)
    val released = new Released(files)
    released.add(p.id, files.release(Holder.OfCheckpoint(p.id)), metadata)
    (Action.Abort(leftOver(p, reason), reason, message) +: released.deletions) ++ prune(p.missing)
  }

  /** A batch that begins while a checkpoint is taken of the one before is nobody's failure: who asked for it gets the next barrier's. */
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
    val completing = pending.values.filter(p => p.completing && !p.properties.isSavepoint).map(_.batch)
    completed.purge(completing).map(Action.Purge(_)).toSeq
  }
}
