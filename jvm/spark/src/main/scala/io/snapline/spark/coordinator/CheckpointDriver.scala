package io.snapline.spark.coordinator

import java.util.UUID

import scala.util.control.NonFatal

import org.apache.spark.sql.streaming.StreamingQueryListener
import org.slf4j.LoggerFactory

import io.snapline.checkpoint._
import io.snapline.checkpoint.coordinator.CheckpointCoordinator
import io.snapline.checkpoint.history.CheckpointHistory
import io.snapline.error.StorageFailure
import io.snapline.spark.protocol.{Alignment, CheckpointFolder, FirstRun, HolderOrder, HoldersReport, TaskBarrier}

/** Acts for one query's coordinator: events of Spark and of executors go in, and files are written and deleted for the
  * actions that come out.
  *
  * The loop's lock guards the coordinator and every variable here. Locks are taken in this order: `planning`,
  * `outcomes`, that of the deletions, the loop's.
  *
  * @param inMemory
  *   state is in this driver's memory: no checkpoint could name it
  * @param maxParallelism
  *   number of key groups
  * @param query
  *   ends runs of the query, and hears when this driver is closed
  */
final class CheckpointDriver private[coordinator] (
    folder: CheckpointFolder,
    spec: CheckpointSpec,
    inMemory: Boolean,
    maxParallelism: Int,
    logs: SparkLogs,
    observer: CheckpointObserver,
    holder: ClaimHolder,
    query: DrivenQuery
) extends AutoCloseable {
  private val log = LoggerFactory.getLogger(classOf[CheckpointDriver])
  private val settings = spec.coordinatorSettings
  private val durableBatches = spec.durableBatches
  private val isInterval = !durableBatches && !inMemory

  /** Guards what becomes of a batch: what was replayed, what it goes on from. Held while the folder is read. */
  private val planning = new Object

  /** Held while the folder is read and counted, and while a checkpoint is said to exist, or no longer to: none of it
    * falls between the two.
    */
  private val outcomes = new Object

  private val loop: CoordinatorLoop = new CoordinatorLoop(folder.location, acting.prepare(_))
  private val board = new RequestBoard
  private val firstRuns = new FirstRunBoard
  private val base = new BaseCheckpoint(folder)
  private val requests =
    new CheckpointRequests(loop, outcomes, board, inMemory, settings.retention.properties, base.id)
  private val between = new BetweenBatches(savepoints = spec.alignment == Alignment.Aligned)
  private val claim = new DriverClaim(folder.claims, holder)
  private val ownership = new Ownership(claim, query)
  private val watch = new BatchWatch
  private var lost: Option[LostAcknowledgements] = None
  private var run: Option[UUID] = None

  /** The newest run that replays, or did. */
  private var replaying: Option[UUID] = None
  private val alignments = new BatchAlignment(folder, spec.alignment)
  private val last = new LastCheckpoint(folder, loop, between)
  private val files = new CheckpointFiles(folder, claim, logs, alignments, durableBatches, maxParallelism)
  private val acting: CheckpointActions =
    new CheckpointActions(folder.location, loop, files, between, board, requests, outcomes, durableBatches)
  private val barriers = new BatchBarriers(spec, inMemory, alignments, base, board)
  private var ending: Ending = Ending.Suspended
  private var isOver = false

  /** The greatest number of a checkpoint that is gone: it does not come again. */
  private var highestLeft = 0L

  /** Whether handles of earlier runs may lie in merged files. */
  private var hasMerged = false

  /** Begins to watch time and folder. */
  private[coordinator] def open(): Unit = loop.every(CheckpointDriver.TickMs) {
    if (watch.isDue(batchRuns, System.nanoTime())) ownership.stopIfLost(loop.synchronized(run))
    lookForLost()
    loop.event("a tick")(_.tick(now))
    loop.event("a pause")(coordinator => if (isInterval) between.ticked(coordinator, now) else Nil)
    loop.event("a request")(between.repeated(_, now))
  }

  // ---- for the query's owner, in Python

  /** Before anything is changed in the folder: it belongs to this driver until another one calls this. Throws
    * QueryTakenOver if one has.
    */
  def claimFolder(): Unit = claim.take()

  /** Why another driver has the folder by now, as an error's text; empty: none has. */
  def takenOver: String = claim.lost.fold("")(_.getMessage)

  /** Before a recovery looks for a checkpoint to begin with: the run before it has ended, and none is added until the
    * next one begins. One that is being written is to be waited for.
    */
  def recovering(): Unit = loop.event("a recovery")(_.interrupted(now))

  /** Whether a checkpoint of the run before is still being written. */
  def isCompleting: Boolean = loop.synchronized(loop.coordinator.exists(_.isCompleting))

  /** Whether another driver has claimed the folder since this one did, by a look at it. After the end as well. */
  def isTakenOver: Boolean = claim.isTakenOver

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

  /** A recovery from this checkpoint has rebuilt the state: newer ones are of a history that it has left, and go.
    * People own savepoints.
    */
  def leaveAfter(checkpoint: Long): Unit = outcomes.synchronized {
    highestLeft = math.max(highestLeft, files.removeAfter(checkpoint, settings, now))
  }

  /** Stores whose version is that of this checkpoint load what it names; 0: they load whatever is durable. */
  def restoreFrom(checkpoint: Long): Unit = planning.synchronized {
    base.from(checkpoint)
    // The caller may go on with plain Spark, whose stores look for handles in their own folders only.
    if (durableBatches) unmerge()
  }

  private def unmerge(): Unit = base.unmerge(loop.isNamed)

  /** See [[CheckpointRequests]]. */
  def trigger(savepoint: Boolean): Long = requests.trigger(savepoint)

  def lend(inFlight: Boolean): Long = requests.lend(inFlight)

  def giveBack(request: Long): Unit = requests.giveBack(request)

  def dispose(checkpoint: Long): Boolean = requests.dispose(checkpoint)

  def outcome(request: Long): String = requests.outcome(request)

  /** The checkpoints of this query since it was started, as JSON with the names of Flink's REST interface. */
  def history: String = snapshot.json

  private[spark] def snapshot: CheckpointHistory.Snapshot =
    loop.synchronized(loop.coordinator.fold(CheckpointHistory.Snapshot())(_.history.snapshot))

  /** The query has come to its end by itself, and its stores are there for a while: takes a checkpoint of its last
    * batch, if there is none. `end` waits for it.
    */
  def checkpointLast(): Unit = if (isInterval && claim.lost.isEmpty) last.take()

  /** The query is over for good, by its owner's word: FINISHED, CANCELED, FAILED or SUSPENDED. Waits until what follows
    * from it is done.
    */
  def end(how: String): Unit = {
    // Only the driver that has the query decides about its checkpoints.
    val ending = if (claim.lost.isEmpty) CheckpointDriver.ending(how) else Ending.Suspended
    loop.synchronized { this.ending = ending }
    if (ending == Ending.Suspended || ending == Ending.Finished) last.finish()
    // Flink takes most checkpoints of a suspended job along. A Spark query is stopped to be started again, and its logs
    // reach back to its checkpoints only.
    if (ending != Ending.Suspended) outcomes.synchronized(loop.event("the end")(_.ended(ending, now)))
    outcomes.synchronized(loop.event("the end")(requests.discardAllUnneeded))
    close()
  }

  /** The process that started the query is gone: nobody else would stop it, or start it again. */
  def abandon(): Unit = if (!isEnded) {
    loop.synchronized(replaying ++ run).foreach(query.stop)
    end("SUSPENDED")
  }

  /** Whether its end is done. */
  def isEnded: Boolean = loop.synchronized(isOver)

  /** Waits for what was asked for, a checkpoint that is being written among it. May be called again. */
  override def close(): Unit = {
    query.closed(this)
    val isIdle = loop.end(CheckpointDriver.CloseWaitMs)
    claim.release(isIdle)
    loop.synchronized {
      if (!isOver) observer.ended(ending)
      isOver = true
    }
  }

  // ---- events of Spark and of executors

  private[spark] def planned(batch: PlannedBatch): TaskBarrier = {
    claim.check()
    planning.synchronized {
      if (alignments.isReplaying) {
        loop.synchronized { replaying = Some(batch.run) }
        unmerge()
        barriers.replayed(batch)
      } else {
        if (!loop.synchronized(run).contains(batch.run)) begin(batch.run)
        loop.synchronized(barrier(batch, loop.coordinator.get))
      }
    }
  }

  private def barrier(batch: PlannedBatch, coordinator: CheckpointCoordinator): TaskBarrier = {
    acting.failure.foreach { reason =>
      throw new StorageFailure(
        s"Checkpoints of ${folder.location} fail: $reason",
        "see to the cause; state since the last checkpoint is rebuilt at the restart."
      )
    }
    // Spark plans a batch when the one before it is in the commit log.
    loop.enqueue(coordinator.batchCommitted(batch.batch - 1, now))
    val names = batch.operators.map(operator => operator.id -> operator.name).toMap
    acting.planned(names)
    observer.planned(names)
    // A run may take the checkpoint of its first barrier and no other: none says what may go.
    if (durableBatches && batch.batch % CheckpointDriver.PurgeEvery == 0) loop.submit(acting.purgeCuts())
    barriers.next(batch, coordinator, hasMerged, now)
  }

  private def begin(started: UUID): Unit = {
    val query = folder.queryId
    val merged = !durableBatches && folder.hasMerged
    outcomes.synchronized {
      files.deletions.anew {
        val found = files.completed
        val highest = math.max(highestLeft, folder.highestId)
        loop.synchronized {
          if (loop.coordinator.isEmpty) loop.begin(newCoordinator(query))
          hasMerged = merged
          begin(query, started, found, highest, loop.coordinator.get)
        }
      }
    }
  }

  private def newCoordinator(query: String): CheckpointCoordinator = {
    val coordinator = new CheckpointCoordinator(query, settings)
    coordinator.history.listen(observer)
    val after = math.min(CheckpointDriver.LookAfterMs, settings.timeoutMs / 2)
    lost = Some(new LostAcknowledgements(query, after, folder.handlesOf))
    coordinator
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
      coordinator: CheckpointCoordinator
  ): Unit = {
    run = Some(started)
    between.begun()
    observer.begun(query, started)
    acting.begun(highest)
    // Deletions wanted so far follow from an older reading of the folder.
    files.deletions.forget()
    loop.enqueue(coordinator.started(started.toString, found, highest, base.id, now))
    // A recovery has removed those that it abandons, unless storage refused. Where the restored one is gone, they are
    // all there is.
    base.id.filter(restored => found.exists(_.id == restored)).foreach { restored =>
      found.filter(_.isAbandonedBy(restored)).foreach(c => loop.enqueue(coordinator.disposed(c.id)))
    }
    // The run before may not have been able to delete some.
    board.found(found.map(_.id).toSet)
    loop.enqueue(requests.discardUnneeded(coordinator))
  }

  /** A query that has nothing to do plans no further batch: its progress says that the last one is committed. */
  private[spark] val listener: StreamingQueryListener = new CommitListener((of, batch) =>
    loop.event("a commit")(c => if (run.contains(of)) c.batchCommitted(batch, now) else Nil)
  )

  /** Whether the store may build its next snapshot on this one. */
  private[spark] def acknowledged(ack: Acknowledgement): Boolean = loop.synchronized {
    loop.event("an acknowledgement")(_.acknowledged(ack, now))
    loop.coordinator.exists(_.mayReuse(ack))
  }

  private[spark] def isRunning(run: String): Boolean = loop.synchronized(this.run.exists(_.toString == run))

  /** Whether the task is one of this query's run, and the first to run its partition in the micro-batch. */
  private[spark] def isFirst(asked: FirstRun): Boolean = isRunning(asked.run) && firstRuns.isFirst(asked)

  /** The orders for the executor that reports. */
  private[spark] def held(report: HoldersReport): Seq[HolderOrder] = loop.synchronized {
    between.heardOf(report, run.fold("")(_.toString), now)
    loop.coordinator.toSeq.flatMap(between.orders(report.executor, _))
  }

  private[spark] def declined(decline: Decline): Unit = loop.event("a decline")(_.declined(decline, now))

  private def batchRuns: Boolean = loop.synchronized(loop.coordinator.flatMap(_.uncommitted)).isDefined

  private def lookForLost(): Unit =
    try {
      val (search, pending) = loop.synchronized((lost, loop.coordinator.toSeq.flatMap(_.inProgress)))
      search.toSeq.flatMap(_.look(pending, now)).foreach { ack =>
        log.info(
          s"Checkpoint ${ack.checkpoint} of ${folder.location}: the snapshot of ${ack.store} is there, and no executor said so."
        )
        acknowledged(ack): Unit
      }
    } catch { case NonFatal(e) => log.warn(s"Snapshots of ${folder.location} could not be looked for.", e) }

  private def now: Long = loop.nowMs

}

private object CheckpointDriver {
  private val TickMs = 100L
  private val PurgeEvery = 100
  private val LookAfterMs = 30000L
  private val CloseWaitMs = 30000L

  private def ending(name: String): Ending =
    Ending.all.find(_.name == name).getOrElse(throw new IllegalArgumentException(s"$name is no end of a query."))
}
