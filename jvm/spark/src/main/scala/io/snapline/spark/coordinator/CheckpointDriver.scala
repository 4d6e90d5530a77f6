package io.snapline.spark.coordinator

import java.util.UUID
import java.util.concurrent.TimeUnit

import scala.util.control.NonFatal

import org.apache.spark.sql.streaming.StreamingQueryListener
import org.slf4j.LoggerFactory

import io.snapline.checkpoint._
import io.snapline.checkpoint.coordinator.{Action, CheckpointCoordinator}
import io.snapline.checkpoint.history.CheckpointHistory
import io.snapline.error.{QueryTakenOver, StorageFailure}
import io.snapline.spark.protocol.{Alignment, CheckpointFolder, HolderOrder, HoldersReport, TaskBarrier}

/** Acts for one query's coordinator: events of Spark and of executors go in, files are written and deleted for what
  * comes out.
  *
  * The coordinator is guarded by this object, and nobody asks storage for anything who holds this lock: Spark's one
  * thread for the messages of all queries takes it. What the coordinator asks for is done on one thread, in order. Owns
  * that thread. Locks are taken in this order: `planning`, `outcomes`, that of the deletions, this object's.
  *
  * @param durableBatches
  *   every batch is durable by itself; checkpoints are extra
  * @param inMemory
  *   state is in this driver's memory: no checkpoint could name it
  * @param alignment
  *   of batches that run for the first time
  * @param stopRun
  *   ends a run of the query, wherever it is, and waits for that
  */
final class CheckpointDriver private[spark] (
    folder: CheckpointFolder,
    settings: CoordinatorSettings,
    durableBatches: Boolean,
    inMemory: Boolean,
    alignment: Alignment,
    maxParallelism: Int,
    logs: SparkLogs,
    observer: CheckpointObserver,
    holder: ClaimHolder,
    stopRun: UUID => Unit,
    closed: CheckpointDriver => Unit
) extends AutoCloseable {
  private val log = LoggerFactory.getLogger(classOf[CheckpointDriver])
  private val isInterval = !durableBatches && !inMemory

  /** Guards what becomes of a batch: what was replayed, what it goes on from. Held while the folder is read. */
  private val planning = new Object

  /** Held while the folder is read and counted, and by whoever says that a checkpoint exists, or no longer: none of it
    * falls between the two.
    */
  private val outcomes = new Object

  private val worker = new CoordinatorThread(folder.location)
  private val completion = new CheckpointCompletion(folder, maxParallelism)
  private val requests = new RequestBoard
  private val between = new BetweenBatches(savepoints = alignment == Alignment.Aligned)
  private var operators = Map.empty[Long, String]
  private val deletions = new Deletions(deleteOwn, folder.location)
  private val claim = new DriverClaim(folder.claims, holder)
  private val watch = new BatchWatch
  private val clock = new SteadyClock
  private var coordinator: CheckpointCoordinator = _
  private var lost: LostAcknowledgements = _
  private var run: Option[UUID] = None
  private val alignments = new BatchAlignment(folder, alignment)
  private val base = new BaseCheckpoint(folder)
  private val sweeps = new SweepSchedule
  private var failure: Option[String] = None
  private var ending: Ending = Ending.Suspended
  private var isOver = false

  /** Whether handles of earlier runs may lie in merged files. */
  private var hasMerged = false

  worker.every(CheckpointDriver.TickMs) {
    if (watch.isDue(batchRuns, System.nanoTime())) lookForOther()
    lookForLost()
    event("a tick")(coordinator.tick(now))
    event("a pause")(if (isInterval) between.ticked(coordinator, now) else Nil)
    event("a request")(between.repeated(coordinator, now))
  }

  // ---- for the query's owner, in Python

  /** Before anything is changed in the folder: it belongs to this driver until another one calls this. Throws
    * QueryTakenOver if one has.
    */
  def claimFolder(): Unit = claim.take()

  /** Why another driver has the folder by now, as an error's text; empty: none has. */
  def takenOver: String = claim.lost.fold("")(_.getMessage)

  /** The runs that follow replay batches one by one: each is durable at once, and none is a barrier.
    *
    * @param committed
    *   they ran to their ends before
    */
  def replay(committed: Boolean): Unit = planning.synchronized(alignments.replay(committed))

  /** The runs that follow go on by themselves.
    *
    * @param unfinished
    *   a batch that an earlier run has planned and not committed; below zero if there is none. A sink that has it
    *   already passes over it without running it, so that no store would acknowledge anything: it is no barrier.
    */
  def goOn(unfinished: Long): Unit = planning.synchronized(alignments.goOn(unfinished))

  /** Stores whose version is that of this checkpoint load what it names; 0: they load whatever is durable. */
  def restoreFrom(checkpoint: Long): Unit = planning.synchronized {
    base.from(checkpoint)
    // Whoever has called will take the folder for one that any run can go on from.
    if (durableBatches) unmerge()
  }

  private def unmerge(): Unit = base.unmerge(isNamed)

  private def isNamed(file: NamedFile): Boolean = synchronized(coordinator != null && coordinator.isNamed(file))

  /** Asks for a checkpoint at the next barrier.
    *
    * @param savepoint
    *   it stays until somebody disposes of it
    * @param inFlight
    *   rows may wait in a savepoint, as they may in a checkpoint
    * @return
    *   a number to ask `outcome` with
    */
  def trigger(savepoint: Boolean, inFlight: Boolean = false): Long = synchronized {
    if (inMemory) requests.refused("state is kept in the driver's memory, and a checkpoint is to outlive it")
    else if (coordinator == null) requests.refused(
      "the query has planned no batch with a stateful operator yet; one without such operators has no checkpoints"
    )
    else {
      val (request, actions) = coordinator.requested(
        if (savepoint) CheckpointProperties.Savepoint else settings.retention.properties
      )
      if (inFlight) requests.mayKeepRows(request)
      enqueue(actions)
      request
    }
  }

  /** Removes a completed checkpoint, unless a restart takes it; false: the coordinator knows of none of this number
    * that may go.
    */
  def dispose(checkpoint: Long): Boolean = outcomes.synchronized {
    synchronized {
      val mayGo =
        coordinator != null && (coordinator.retained.dropRight(1) ++ coordinator.savepoints).exists(_.id == checkpoint)
      if (mayGo) enqueue(coordinator.disposed(checkpoint))
      mayGo
    }
  }

  /** What became of a request: empty while it waits, `completed <number>`, or `failed <reason>`. */
  def outcome(request: Long): String = synchronized(requests.outcome(request))

  /** The checkpoints of this query since it was started, as JSON with the names of Flink's REST interface. */
  def history: String = snapshot.json

  private[spark] def snapshot: CheckpointHistory.Snapshot =
    synchronized(if (coordinator == null) CheckpointHistory.Snapshot() else coordinator.history.snapshot)

  /** The query has come to its end by itself, and its stores are there for a while: takes a checkpoint of its last
    * batch, if there is none. Waits for that in `end`.
    */
  def checkpointLast(): Unit = if (isInterval && claim.lost.isEmpty) {
    val deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(CheckpointDriver.LastReportsMs)
    def isTaken: Boolean = {
      hearOfLastCommit()
      synchronized {
        coordinator == null || coordinator.lagging.isEmpty || between.take(coordinator, last = true, now)
      }
    }
    while (!isTaken && System.nanoTime() < deadline) Thread.sleep(20)
  }

  /** Spark's listeners hear of it some time after it. */
  private def hearOfLastCommit(): Unit =
    synchronized(Option(coordinator).flatMap(_.uncommitted)).filter(folder.isCommitted).foreach { batch =>
      synchronized(enqueue(coordinator.batchCommitted(batch, now)))
    }

  /** The query is over for good, by its owner's word: FINISHED, CANCELED, FAILED or SUSPENDED. Waits until what follows
    * from it is done.
    */
  def end(how: String): Unit = {
    // What becomes of the checkpoints of a query that another driver has is not for this one to say.
    val ending = if (claim.lost.isEmpty) CheckpointDriver.ending(how) else Ending.Suspended
    synchronized { this.ending = ending }
    if (ending == Ending.Suspended || ending == Ending.Finished) finishPending()
    // Flink takes most checkpoints of a suspended job along. A Spark query is stopped to be started again, and its logs
    // reach back to its checkpoints only.
    if (ending != Ending.Suspended) outcomes.synchronized(event("the end")(coordinator.ended(ending, now)))
    close()
  }

  /** A query that ran for a moment should leave the checkpoint of its last barrier: uploads that are under way get a
    * little time.
    */
  private def finishPending(): Unit = {
    val deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(CheckpointDriver.LastUploadsMs)
    def isFinishing: Boolean = synchronized(coordinator != null && coordinator.finishing.nonEmpty)
    try hearOfLastCommit()
    catch { case NonFatal(e) => log.warn(s"The last commit of ${folder.location} could not be looked for.", e) }
    while (isFinishing && System.nanoTime() < deadline) Thread.sleep(20)
  }

  /** Waits for what was asked for, a checkpoint that is being written among it. May be called again. */
  override def close(): Unit = {
    closed(this)
    worker.end(CheckpointDriver.CloseWaitMs)
    claim.release()
    synchronized {
      if (!isOver) observer.ended(ending)
      isOver = true
    }
  }

  // ---- events of Spark and of executors

  private[spark] def planned(batch: PlannedBatch): TaskBarrier = {
    claim.check()
    planning.synchronized {
      if (alignments.isReplaying) replayed(batch)
      else {
        if (!synchronized(run).contains(batch.run)) begin(batch.run)
        barrier(batch)
      }
    }
  }

  private def replayed(batch: PlannedBatch): TaskBarrier = {
    unmerge()
    val alignment = alignments.of(batch.batch, savepoint = false)
    val run = batch.run
    TaskBarrier(
      run,
      replays = true,
      interval = false,
      None,
      None,
      Set.empty,
      None,
      base.path,
      merged = false,
      alignment
    )
  }

  private def barrier(batch: PlannedBatch): TaskBarrier = synchronized {
    failure.foreach { reason =>
      throw new StorageFailure(
        s"Checkpoints of ${folder.location} fail: $reason",
        "see to the cause; state since the last checkpoint is rebuilt at the restart."
      )
    }
    // Spark plans a batch when the one before it is in the commit log.
    enqueue(coordinator.batchCommitted(batch.batch - 1, now))
    operators = batch.operators.map(operator => operator.id -> operator.name).toMap
    observer.planned(operators)
    // Where no checkpoint completes, nothing else says what may go.
    if (durableBatches && coordinator.retained.isEmpty && batch.batch % CheckpointDriver.PurgeEvery == 0) {
      worker.submit(alignments.purge(batch.batch - 1))
    }
    val isBarrier = !inMemory && !alignments.isUnfinished(batch.batch)
    val ahead = batch.operators.filter(mayBeAhead)
    val checkpoint =
      if (!isBarrier) None
      else coordinator.batchPlanned(batch.batch, stores(batch.operators), now, stores(ahead))
    val savepoint = checkpoint.exists(isSavepoint)
    TaskBarrier(
      batch.run,
      replays = false,
      interval = !durableBatches,
      checkpoint,
      owed = coordinator.owed.filter(_ => isBarrier),
      mayBeAhead = if (savepoint) Set.empty else ahead.map(_.id).toSet,
      awaited = coordinator.inProgress.map(_.batch + 1).minOption,
      base.pathIfRetained(coordinator),
      merged = hasMerged,
      alignments.of(batch.batch, savepoint && checkpoint.exists(takesAllRows))
    )
  }

  private def stores(operators: Seq[PlannedOperator]): Set[StoreId] = operators.flatMap(_.storeIds).toSet

  /** What another operator makes state of must not be ahead of it: rows that were passed over the second time would be
    * missing there.
    */
  private def mayBeAhead(operator: PlannedOperator): Boolean =
    settings.mode == CheckpointingMode.AtLeastOnce && !operator.feedsState

  private def isSavepoint(checkpoint: Long): Boolean =
    coordinator.inProgress.exists(p => p.id == checkpoint && p.properties.isSavepoint)

  private def takesAllRows(savepoint: Long): Boolean =
    coordinator.inProgress.exists(p => p.id == savepoint && !p.requests.forall(requests.keepsRows))

  private def begin(started: UUID): Unit = {
    val query = folder.queryId
    val merged = !durableBatches && folder.hasMerged
    outcomes.synchronized {
      deletions.anew {
        val found = folder.completed().map { case (metadata, bytes) => metadata.completed(bytes) }
        begin(query, started, found, folder.highestId, merged)
      }
    }
  }

  /** @param found
    *   the checkpoints in the folder
    * @param highest
    *   number of the newest one, whole or not
    */
  private def begin(
      query: String,
      started: UUID,
      found: Seq[CompletedCheckpoint],
      highest: Long,
      merged: Boolean
  ): Unit =
    synchronized {
      if (coordinator == null) {
        coordinator = new CheckpointCoordinator(query, settings)
        coordinator.history.listen(observer)
        val after = math.min(CheckpointDriver.LookAfterMs, settings.timeoutMs / 2)
        lost = new LostAcknowledgements(query, after, folder.handlesOf)
      }
      run = Some(started)
      between.begun()
      failure = None
      observer.begun(query, started)
      hasMerged = merged
      sweeps.begun(highest, now)
      // By the count before.
      deletions.forget()
      enqueue(coordinator.started(started.toString, found, highest, base.id, now))
      // They are of a line that this run leaves. Savepoints are not the system's to remove, and its batches are the
      // same.
      base.id.foreach { restored =>
        found.filter(c => c.id > restored && !c.properties.isSavepoint).foreach { c =>
          enqueue(coordinator.disposed(c.id))
        }
      }
    }

  private[spark] val listener: StreamingQueryListener = new StreamingQueryListener {
    override def onQueryStarted(event: StreamingQueryListener.QueryStartedEvent): Unit = ()

    // A query that has nothing to do plans no further batch.
    override def onQueryProgress(progress: StreamingQueryListener.QueryProgressEvent): Unit =
      event("a commit") {
        if (run.contains(progress.progress.runId)) coordinator.batchCommitted(progress.progress.batchId, now) else Nil
      }

    override def onQueryTerminated(event: StreamingQueryListener.QueryTerminatedEvent): Unit = ()
  }

  /** Whether the store may build its next snapshot on this one. */
  private[spark] def acknowledged(ack: Acknowledgement): Boolean = synchronized {
    event("an acknowledgement")(coordinator.acknowledged(ack, now))
    coordinator != null && coordinator.mayReuse(ack)
  }

  private[spark] def isRunning(run: String): Boolean = synchronized(this.run.exists(_.toString == run))

  /** What the executor has to do. */
  private[spark] def held(report: HoldersReport): Seq[HolderOrder] = synchronized {
    val run = this.run.fold("")(_.toString)
    between.heardOf(report, run, now)
    if (coordinator == null) Nil else between.orders(report.executor, coordinator)
  }

  private[spark] def declined(decline: Decline): Unit = event("a decline")(coordinator.declined(decline, now))

  private def batchRuns: Boolean = synchronized(coordinator != null && coordinator.uncommitted.isDefined)

  /** A batch that is under way when another driver takes over would be put out, and entered into the commit log, behind
    * that one's back.
    */
  private def lookForOther(): Unit =
    try claim.check()
    catch {
      case e: QueryTakenOver =>
        log.error(e.getMessage)
        // It waits for the batch's tasks to end.
        val thread = new Thread((() => synchronized(run).foreach(stopRun)): Runnable, "snapline-stop")
        thread.setDaemon(true)
        thread.start()
    }

  private def lookForLost(): Unit =
    try {
      val (search, pending) = synchronized((lost, if (coordinator == null) Nil else coordinator.inProgress))
      if (search != null) {
        search.look(pending, now).foreach { ack =>
          log.info(
            s"Checkpoint ${ack.checkpoint} of ${folder.location}: the snapshot of ${ack.store} is there, and no executor said so."
          )
          acknowledged(ack): Unit
        }
      }
    } catch { case NonFatal(e) => log.warn(s"Snapshots of ${folder.location} could not be looked for.", e) }

  // ---- acting

  private def now: Long = clock.nowMs

  private def event(what: String)(transition: => Seq[Action]): Unit =
    try synchronized(if (coordinator != null) enqueue(transition))
    catch { case NonFatal(e) => log.error(s"The coordinator of ${folder.location} failed at $what.", e) }

  /** Under the lock, so that actions keep the order of the events. */
  private def enqueue(actions: Seq[Action]): Unit = if (actions.nonEmpty) {
    val reading = deletions.reading
    worker.submit(actions.foreach(act(_, reading)))
  }

  private def act(action: Action, reading: Int): Unit =
    try action match {
        case Action.Complete(checkpoint) => complete(checkpoint)
        case Action.Abort(checkpoint, reason, message) =>
          log.warn(s"Checkpoint ${checkpoint.id} of ${folder.location} was given up: ${reason.text} $message")
          if (checkpoint.afterCommit) synchronized(between.ended(completed = false))
          synchronized(checkpoint.requests.foreach(requests.failed(_, s"$reason: $message")))
        case Action.Refuse(request, reason) => synchronized(requests.failed(request, s"$reason: ${reason.text}"))
        // Handles of batches that are durable by themselves belong to the stores, which keep what checkpoints name.
        case delete: Action.Delete if durableBatches =>
          val merged = delete.handles.collect { case file: MergedHandles => file }
          deletions.add(delete.copy(handles = merged, tables = Nil), reading)
        case delete: Action.Delete => deletions.add(delete, reading)
        case Action.FailQuery(checkpoint, reason, message) =>
          log.error(s"Checkpoint $checkpoint of ${folder.location} was one failure too many: ${reason.text} $message")
          synchronized { failure = Some(s"checkpoint $checkpoint: $reason: $message") }
        case Action.Purge(batch) =>
          claim.check()
          if (!durableBatches) logs.purge(batch - 1)
          alignments.purge(batch)
      }
    catch { case NonFatal(e) => log.warn(s"The coordinator of ${folder.location} could not do $action.", e) }

  /** By the count of a driver that has been taken over, nobody names files that the other builds on. */
  private def deleteOwn(what: Action.Delete): Unit = {
    claim.check()
    folder.delete(what)
  }

  private def complete(p: PendingCheckpoint): Unit = {
    val (query, names) = synchronized((coordinator.query, operators))
    val written =
      try {
        claim.check()
        completion.run(query, p, names)
      } catch { case NonFatal(e) => Left(e.getMessage) }
    outcomes.synchronized(concluded(p, written))
  }

  private def concluded(p: PendingCheckpoint, written: Either[String, Long]): Unit = synchronized {
    val follows = written match {
      case Right(bytes) =>
        log.info(s"Checkpoint ${p.id} of ${folder.location} is complete: batch ${p.batch}, ${p.handles.size} stores.")
        if (p.afterCommit) between.ended(completed = true)
        p.requests.foreach(requests.completed(_, p.id))
        coordinator.metadataWritten(p.id, bytes, now)
      case Left(reason) => coordinator.writeFailed(p.id, reason, now)
    }
    enqueue(follows)
    val retained = coordinator.retained
    if (written.isRight && !durableBatches && retained.nonEmpty && sweeps.isDue(retained.map(_.id).min, now)) {
      val named = retained ++ coordinator.savepoints
      val oldest = retained.map(_.batch + 1).min
      worker.submit {
        claim.check()
        folder.sweep(named, oldest, isNamed)
      }
    }
  }
}

private object CheckpointDriver {
  private val TickMs = 100L
  private val PurgeEvery = 100
  private val LookAfterMs = 30000L
  private val LastUploadsMs = 10000L
  private val LastReportsMs = 3000L
  private val CloseWaitMs = 30000L

  private def ending(name: String): Ending =
    Ending.all.find(_.name == name).getOrElse(throw new IllegalArgumentException(s"$name is no end of a query."))
}
