package io.snapline.checkpoint.coordinator

import scala.collection.mutable
import scala.util.Random

import io.snapline.checkpoint._

/** A query, its driver, its executors and its folder, in which everything happens in any order, twice, late or not at
  * all; and the promises, which hold after every step.
  */
final class ModelQuery(seed: Long) {
  private val random = new Random(seed)
  private def chance(oneIn: Int): Boolean = random.nextInt(oneIn) == 0

  val settings: CoordinatorSettings = CoordinatorSettings(
    intervalMs = if (chance(3)) None else Some(10L + random.nextInt(200)),
    timeoutMs = 200L + random.nextInt(2000),
    minPauseMs = if (chance(3)) random.nextInt(200).toLong else 0,
    maxConcurrent = 1 + random.nextInt(3),
    tolerableFailures = if (chance(2)) Int.MaxValue else random.nextInt(4),
    retained = 1 + random.nextInt(3),
    retention = RetentionPolicy.all(random.nextInt(3))
  )
  private val allStores = (0 until 1 + random.nextInt(3)).flatMap { operator =>
    (0 until 1 + random.nextInt(2)).map(StoreId(operator.toLong, _, "default"))
  }.toSet

  /** Of those that need not keep to a barrier; none of them under EXACTLY_ONCE. */
  private val mayBeAhead = if (chance(2)) allStores.filter(_ => chance(2)) else Set.empty[StoreId]

  // The folder.
  private val stores = new ModelStores(random, merging = chance(2))
  private val metadata = mutable.Map.empty[Long, CompletedCheckpoint]

  // The driver.
  private var coordinator = new CheckpointCoordinator("query", settings)
  private val deletes = mutable.Queue.empty[Action.Delete]
  private val writes = mutable.ArrayBuffer.empty[PendingCheckpoint]
  private val written = mutable.ArrayBuffer.empty[Long]
  private var now = 1000L
  private var runs = 0
  private var run = ""
  private var planned: Option[(Long, Option[Long])] = None
  private var nextBatch = 0L
  private var over = false

  // The network: what is on its way to the driver.
  private val acks = mutable.ArrayBuffer.empty[Acknowledgement]
  private val declines = mutable.ArrayBuffer.empty[Decline]

  // What the oracle knows of this process.
  private val delivered = mutable.Set.empty[Acknowledgement]
  private val known = mutable.Set.empty[NamedFile]
  private val newest = mutable.Map.empty[StoreId, (Long, Set[NamedFile])]

  /** Merged files, and the checkpoints whose stores have handles there, or might have answered with one: it lives as
    * long, even if in the end none of them counts.
    */
  private val merged = mutable.Map.empty[NamedFile, Set[Long]].withDefaultValue(Set.empty)
  private val committed = mutable.Set.empty[Long]
  private var lastTriggerMs: Option[Long] = None
  private var lastCompletionMs: Option[Long] = None
  private var highest = 0L
  private var setAsideHighest = 0L
  private val asked = mutable.Set.empty[Long]
  private val barriers = mutable.Set.empty[(String, Long)]

  /** Checkpoints of snapshots that older ones have. */
  private val repeats = mutable.Set.empty[Long]

  /** Requests of checkpoints between two batches. */
  private val handedOut = mutable.Map.empty[Long, Seq[Long]]

  val seen = mutable.Map.empty[String, Int].withDefaultValue(0)
  private def note(what: String): Unit = seen(what) += 1

  def live(steps: Int): Unit = {
    start()
    (0 until steps).foreach { _ =>
      now += random.nextInt(20)
      step()
      if (chance(200)) audit()
    }
    finish()
  }

  private def step(): Unit = random.nextInt(1000) match {
    case n if n < 12 => pause()
    case n if n < 20 => repeat()
    case n if n < 230 => if (planned.isEmpty) plan() else if (chance(10)) plan() else commit()
    case n if n < 450 => upload()
    case n if n < 760 => deliver()
    case n if n < 820 => write()
    case n if n < 880 => report()
    case n if n < 970 => delete()
    case n if n < 980 => act(coordinator.tick(now))
    case n if n < 985 => ask()
    case n if n < 990 => noise()
    case n if n < 993 => if (over || chance(3)) restart()
    case n if n < 994 => dispose()
    case n if n < 996 => if (over || chance(3)) crash()
    case _ => if (chance(6)) end()
  }

  // Events of the query.

  private def plan(): Unit = if (!over) {
    val batch = planned.fold(nextBatch)(_._1)
    val before = coordinator.inProgress
    val checkpoint = coordinator.batchPlanned(batch, allStores, now, mayBeAhead)
    planned match {
      case None =>
        planned = Some((batch, checkpoint))
        checkpoint.foreach { id =>
          val p = coordinator.inProgress.find(_.id == id).get
          checkTrigger(p, before)
          stores.barrier(run, id, batch, allStores, p.mayBeAhead)
        }
      case Some((_, first)) =>
        note("planned twice")
        assert(checkpoint == first.filter(id => before.exists(p => p.id == id && !p.completing)))
    }
  }

  /** No batch runs. Executors that hold the stores make their snapshots, or a batch that begins is faster. */
  private def pause(): Unit = {
    val before = coordinator.inProgress
    val last = chance(3)
    coordinator.betweenBatches(last, savepoints = chance(2), now).foreach { p =>
      note("between batches")
      assert(planned.isEmpty && !over && p.batch == nextBatch - 1 && committed(p.batch) && p.run == run)
      val none = before.forall(_.batch != p.batch) && metadata.values.forall(c => c.batch != p.batch || c.run != run)
      assert(none, s"batch ${p.batch} has a checkpoint")
      if (last) { lastTriggerMs = None; lastCompletionMs = None }
      checkTrigger(p, before)
      handedOut(p.id) = p.requests
      val taken = allStores.filterNot(_ => chance(8))
      stores.barrier(run, p.id, p.batch, taken, p.mayBeAhead)
      declines ++= allStores.diff(taken).map(Decline("query", run, p.id, _, FailureReason.NotReady, "A task has it."))
    }
  }

  /** No batch runs for so long that all that was on its way arrives, and somebody wants what the newest barrier has
    * already.
    */
  private def repeat(): Unit = if (planned.isEmpty && !over) {
    (0 until 30).foreach { _ =>
      upload()
      deliver()
      write()
      report()
    }
    if (!over) ask()
    val (before, pauseMs) = (coordinator.inProgress, random.nextInt(30).toLong)
    val actions = coordinator.repeated(pauseMs, savepoints = chance(2), now)
    actions.foreach {
      case Action.Complete(p) =>
        note("repeated")
        assert(planned.isEmpty && !over && p.batch == nextBatch - 1 && committed(p.batch) && p.requests.nonEmpty)
        val whole = (coordinator.retained ++ coordinator.savepoints).filter(c => metadata.contains(c.id))
        def same(c: CompletedCheckpoint) = c.handles.map { case (store, handle) => store -> handle.again } == p.handles
        assert(whole.exists(c => c.run == run && c.batch == p.batch && same(c)))
        // The interval runs from barrier to barrier.
        val last = lastTriggerMs
        checkTrigger(p, before)
        lastTriggerMs = last
        repeats += p.id
      case other => throw new AssertionError(other.toString)
    }
    act(actions)
  }

  private def checkTrigger(p: PendingCheckpoint, before: Seq[PendingCheckpoint]): Unit = {
    note("triggered")
    val isExact = p.properties.isSavepoint || p.afterCommit
    assert(p.mayBeAhead == (if (isExact) Set.empty[StoreId] else mayBeAhead))
    assert(coordinator.owed.contains(p.id) || p.mayBeAhead.isEmpty)
    assert(p.id > highest && !metadata.contains(p.id), "a number comes once")
    assert(barriers.add((run, p.id)))
    highest = p.id
    if (!p.properties.forced) assert(before.size < settings.concurrent, "too many in progress")
    if (p.requests.isEmpty) {
      assert(lastCompletionMs.forall(now - _ >= settings.minPauseMs), "the pause was too short")
      for (interval <- settings.intervalMs; last <- lastTriggerMs) assert(now - last >= interval, "too early")
    }
    if (!p.properties.isSavepoint) lastTriggerMs = Some(now)
    p.requests.foreach(request => assert(asked.remove(request)))
  }

  private def commit(): Unit = if (!over) planned.foreach { case (batch, _) =>
    planned = None
    nextBatch = batch + 1
    committed += batch
    // Now and then the message is lost: the next one stands for it.
    if (!chance(20)) act(coordinator.batchCommitted(batch, now))
  }

  private def ask(): Unit = {
    val (request, actions) = coordinator.requested(CheckpointProperties.all(random.nextInt(5)))
    assert(asked.add(request))
    act(actions)
  }

  private def dispose(): Unit = {
    val all = coordinator.savepoints ++ coordinator.retained
    if (all.nonEmpty) {
      note("disposed")
      act(coordinator.disposed(all(random.nextInt(all.size)).id))
    }
  }

  private def upload(): Unit = stores.upload(Option.when(!over)(run), planned.fold(nextBatch)(_._1 + 1)).foreach {
    case (w, Nil) =>
      // An executor that dies tells nobody.
      if (chance(2)) declines += Decline("query", w.run, w.checkpoint, w.store, FailureReason.AsyncFailure, "No room.")
    case (w, handles) =>
      acks ++= handles.map(Acknowledgement("query", w.run, w.checkpoint, w.store, _))
  }

  private def deliver(): Unit =
    if (declines.nonEmpty && chance(3)) act(coordinator.declined(next(declines, 4), now))
    else if (acks.nonEmpty) receive(next(acks, 8))

  /** Any message; one of so many comes again. */
  private def next[A](messages: mutable.ArrayBuffer[A], again: Int): A = {
    val at = random.nextInt(messages.size)
    if (chance(again)) messages(at) else messages.remove(at)
  }

  private def receive(ack: Acknowledgement): Unit = {
    known ++= ack.handle.names(ack.store)
    ack.handle.mergedFile.foreach { file =>
      note("merged")
      if (merged.contains(file)) note("merged with others")
      val late = coordinator.inProgress.filter(p => p.id < ack.checkpoint && p.isOwed).map(_.id)
      merged(file) = merged(file) ++ late + ack.checkpoint
    }
    if (ack.run == run) {
      delivered += ack
      if (!over) remember(ack.store, ack.checkpoint, ack.handle)
    } else note("stale")
    val actions = coordinator.acknowledged(ack, now)
    val answer = coordinator.mayReuse(ack)
    if (answer) assert(ack.run == run && newest(ack.store)._2 == ack.handle.owns(ack.store).toSet)
    if (!chance(10)) stores.answered(ack.run, ack.store, ack.handle, answer)
    act(actions)
  }

  /** Of two attempts the first counts. */
  private def remember(store: StoreId, checkpoint: Long, handle: StateHandle): Unit =
    if (newest.get(store).forall(_._1 < checkpoint)) newest(store) = (checkpoint, handle.owns(store).toSet)

  /** Of another query, of a checkpoint that was never triggered, of a store nobody expects: no effect at all. */
  private def noise(): Unit = acks.headOption.foreach { ack =>
    val before = coordinator.inProgress
    val dropped = coordinator.dropped
    val actions = random.nextInt(3) match {
      case 0 => coordinator.acknowledged(ack.copy(query = "another"), now)
      case 1 => coordinator.acknowledged(ack.copy(run = run, checkpoint = highest + 1000), now)
      case _ =>
        coordinator.declined(
          Decline("query", run, ack.checkpoint, StoreId(99, 0, "x"), FailureReason.Declined, "no"),
          now
        )
    }
    note("noise")
    assert(actions.isEmpty && coordinator.inProgress == before && coordinator.dropped != dropped)
  }

  // What the driver does.

  /** All that was said before is done before the query is told of a failure. */
  private def act(actions: Seq[Action]): Unit = {
    actions.foreach(act)
    if (actions.exists(_.isInstanceOf[Action.FailQuery])) {
      note("failed query")
      if (chance(2)) restart() else end()
    }
  }

  private def act(action: Action): Unit = action match {
    case Action.Complete(p) =>
      note("complete")
      assert(p.expected == allStores && p.acked.keySet == allStores)
      p.handles.foreach { case (store, handle) =>
        def isIt(made: StateHandle) = if (repeats(p.id)) made.again == handle else made == handle
        val of = delivered.filter(ack => ack.run == p.run && ack.store == store && isIt(ack.handle))
        assert(
          of.exists(ack => ack.checkpoint == p.id || ack.checkpoint > p.id && mayBeAhead(store) || repeats(p.id)),
          s"$store, ${p.id}"
        )
        val ahead = handle.ref.version - (p.batch + 1)
        assert(ahead == 0 || ahead > 0 && p.mayBeAhead(store), s"$store has version ${handle.ref.version} for $p")
        assert(committed(handle.ref.version - 1), s"batch ${handle.ref.version - 1} was not committed")
        if (ahead > 0) note("ahead")
        if (of.forall(_.checkpoint > p.id)) note("answered by a later one")
      }
      assert(committed(p.batch), s"batch ${p.batch} was not committed")
      writes += p
    case Action.Abort(p, reason, _) =>
      note(reason.name)
      assert(!written.contains(p.id) && (!writes.exists(_.id == p.id) || reason == FailureReason.FinalizeFailure))
      if (p.afterCommit && !reason.counts && !over && p.requests.isEmpty) {
        note("given back")
        asked ++= handedOut.remove(p.id).get
        if (!p.properties.isSavepoint) lastTriggerMs = None
      }
    case Action.Refuse(request, reason) =>
      note(s"refused ${reason.name}")
      assert(asked.remove(request))
    case delete: Action.Delete =>
      // Those before it in the queue take their metadata away first.
      val gone = deletes.filter(_.metadata).map(_.checkpoint).toSet ++ Option.when(delete.metadata)(delete.checkpoint)
      checkFree(delete.files, gone)
      deletes += delete
    case _: Action.FailQuery => ()
    case Action.Purge(below) =>
      note("purge")
      coordinator.retained.foreach(c => assert(c.batch >= below))
      coordinator.inProgress.filter(p => p.completing && !p.properties.isSavepoint).foreach(p =>
        assert(p.batch >= below)
      )
  }

  private def checkFree(files: Seq[NamedFile], gone: Set[Long]): Unit = {
    if (files.nonEmpty) checkNotNamed(files.toSet, gone)
  }

  private def checkNotNamed(named: Set[NamedFile], gone: Set[Long]): Unit = {
    def none(what: String, names: => Iterable[NamedFile]): Unit =
      names.find(named).foreach(file => throw new AssertionError(s"$file is deleted and $what names it"))
    metadata.foreach { case (id, c) => if (!gone(id)) none(s"checkpoint $id", c.names) }
    writes.foreach(p => none(s"${p.id}, being completed,", p.completed(0, 0).names))
    coordinator.inProgress.foreach(p => none(s"${p.id}, in progress,", p.completed(0, 0).names))
    newest.foreach { case (store, (_, names)) => none(s"the newest handle of $store", names) }
  }

  /** In the order given. One that is cut off is done again. */
  private def delete(): Unit = deletes.headOption.foreach { delete =>
    val failed = chance(6)
    if (delete.metadata && failed && chance(2)) note("metadata stays")
    else {
      if (delete.metadata) metadata.remove(delete.checkpoint): Unit
      checkFree(delete.files, Set.empty)
      delete.files.foreach { file =>
        if (!failed || chance(2)) {
          stores.stored -= file
        }
      }
      if (!failed) { val _ = deletes.dequeue() }
    }
  }

  private def write(): Unit = if (writes.nonEmpty) {
    val p = writes.remove(random.nextInt(writes.size))
    val whole = !chance(6)
    if (whole || chance(2)) metadata(p.id) = p.completed(now, 7)
    p.completed(0, 0).names.foreach(file => assert(stores.stored(file), s"checkpoint ${p.id} names $file: gone"))
    if (whole) written += p.id else written += -p.id
  }

  private def report(): Unit = if (written.nonEmpty) {
    val id = written.remove(random.nextInt(written.size))
    if (id > 0) {
      val p = coordinator.inProgress.find(_.id == id)
      p.foreach { _ => lastCompletionMs = Some(now) }
      act(coordinator.metadataWritten(id, 7, now))
      p.foreach { p =>
        note("completed")
        assert(coordinator.retained.size <= settings.retained, "too many retained")
        if (!p.properties.isSavepoint) {
          assert(!coordinator.inProgress.exists(o => o.id < id && !o.completing && !o.properties.isSavepoint))
        }
      }
    } else act(coordinator.writeFailed(-id, "No room.", now))
  }

  // Ends and beginnings.

  /** A driver does or forgets what it was to delete before it reads the folder.
    *
    * @param chosen
    *   the checkpoint that a recovery has begun with
    */
  private def start(chosen: Option[Long] = None): Unit = {
    while (deletes.nonEmpty && !chance(30)) delete()
    if (deletes.nonEmpty) known.clear()
    deletes.clear()
    // The executors of the run before are gone, or will be soon.
    if (chance(2)) stores.forgetAllBut(run)
    runs += 1
    run = s"run $runs"
    if (chosen.isEmpty && chance(8)) setAside()
    val found = metadata.values.toSeq.sortBy(_.id)
    val base = chosen.fold(choose())(id => found.find(_.id == id))
    assert(chosen.forall(id => base.exists(_.id == id)), s"$chosen went after a recovery had begun with it")
    planned = None
    over = false
    newest.clear()
    lastTriggerMs = None
    base.foreach(c => c.handles.foreach { case (store, handle) => remember(store, c.id, handle) })
    stores.load(run, allStores, base.fold(Map.empty[StoreId, StateHandle])(_.handles))
    note("start")
    val handed = random.shuffle(found)
    val highestFound = math.max(setAsideHighest, found.map(_.id).maxOption.getOrElse(0L))
    act(coordinator.started(run, handed, highestFound, base.map(_.id), now))
    assert(asked.isEmpty, "a request without an answer")
    known ++= found.flatMap(_.names)
    assert(coordinator.retained.map(_.id) == found.filterNot(_.properties.isSavepoint).map(_.id))
  }

  /** The newest, or one that somebody picks. */
  private def choose(): Option[CompletedCheckpoint] = {
    val found = metadata.values.toSeq.sortBy(_.id)
    if (found.nonEmpty && chance(4)) Some(found(random.nextInt(found.size)))
    else found.filterNot(_.properties.isSavepoint).lastOption
  }

  /** The query has failed. A recovery takes its time before the next run begins, and messages of the last one come. */
  private def recover(): Option[Long] = {
    note("recovery")
    over = true
    planned = None
    newest.clear()
    act(coordinator.interrupted(now))
    assert(asked.isEmpty, "a request without an answer")
    while (writes.nonEmpty || written.nonEmpty) { write(); report() }
    while (deletes.nonEmpty) delete()
    val chosen = choose().map(_.id)
    (0 until random.nextInt(40)).foreach { _ =>
      now += random.nextInt(20)
      random.nextInt(9) match {
        case 0 => ask()
        case 1 => act(coordinator.tick(now))
        case 2 => assert(coordinator.betweenBatches(last = true, savepoints = true, now).isEmpty)
        case 3 => assert(coordinator.repeated(0, savepoints = true, now).isEmpty)
        case 4 => act(coordinator.batchCommitted(nextBatch, now))
        case 5 => delete()
        case 6 => upload()
        case _ => deliver()
      }
    }
    chosen
  }

  /** The newest checkpoint proves damaged, and somebody takes their savepoints elsewhere. The files are left for people
    * to look at.
    */
  private def setAside(): Unit = {
    val unreported = written.map(math.abs).toSet
    val reported = metadata.keys.filterNot(unreported).toSeq
    (reported.maxOption ++ reported.filter(metadata(_).properties.isSavepoint)).toSet.foreach { (id: Long) =>
      note("set aside")
      known --= metadata.remove(id).get.names
      known --= merged.keys.filter(merged(_)(id))
      setAsideHighest = math.max(setAsideHighest, id)
    }
  }

  private def restart(): Unit = {
    note("restart")
    start(if (!over && chance(2)) recover() else None)
  }

  private def crash(): Unit = {
    note("crash")
    // A write that the crash cut off has come to something or to nothing.
    writes.foreach(p => if (chance(2)) metadata(p.id) = p.completed(now, 7))
    writes.clear()
    written.clear()
    deletes.clear()
    known.clear()
    asked.clear()
    delivered.clear()
    repeats.clear()
    lastCompletionMs = None
    highest = 0
    coordinator = new CheckpointCoordinator("query", settings)
    start()
    highest = metadata.keys.maxOption.getOrElse(0L)
  }

  private def end(): Unit = if (!over) {
    val how = Ending.all(random.nextInt(4))
    note(how.name)
    over = true
    planned = None
    newest.clear()
    val before = coordinator.retained
    act(coordinator.ended(how, now))
    assert(asked.isEmpty, "a request without an answer")
    assert(coordinator.retained == before.filterNot(_.properties.discardedWhen(how)))
    if (chance(2)) {
      audit()
      if (chance(2)) crash() else restart()
    }
  }

  /** Nothing that this process has heard of lies about unnamed, and nothing named is missing. */
  private def audit(): Unit = {
    metadata.values.foreach(_.names.foreach(file => assert(stores.stored(file), s"$file is gone")))
    coordinator.inProgress.foreach(_.completed(0, 0).names.foreach(file =>
      assert(stores.stored(file), s"$file is gone")
    ))
    // What an older snapshot holds until the ones in progress are acknowledged may stay so long.
    val awaited = coordinator.inProgress.exists(_.acked.size < allStores.size)
    val named = metadata.values.flatMap(_.names).toSet ++
      coordinator.inProgress.flatMap(_.completed(0, 0).names) ++ newest.values.flatMap(_._2)
    val condemned = deletes.flatMap(_.files).toSet
    known.filterInPlace(stores.stored)
    known.foreach { file =>
      if (!awaited) assert(named(file) || condemned(file) || isSpare(file), s"$file is named by nobody and stays")
    }
    note("audit")
  }

  private def isSpare(file: NamedFile): Boolean = {
    val alive = coordinator.inProgress.map(_.id) ++ (coordinator.retained ++ coordinator.savepoints).map(_.id)
    alive.exists(merged(file))
  }

  private def finish(): Unit = {
    end()
    if (!over) { over = true; newest.clear(); act(coordinator.ended(Ending.Suspended, now)) }
    while (!stores.isIdle || acks.nonEmpty || declines.nonEmpty) { upload(); deliver() }
    while (writes.nonEmpty || written.nonEmpty) { write(); report() }
    while (deletes.nonEmpty) delete()
    audit()
    assert(coordinator.inProgress.isEmpty)
    val named = metadata.values.flatMap(_.names).toSet
    assert(known.forall(file => isSpare(file) || stores.stored(file) == named(file)), "what is left is what is named")
    assert(metadata.keySet == (coordinator.retained ++ coordinator.savepoints).map(_.id).toSet)
  }
}
