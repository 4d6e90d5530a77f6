package io.snapline.spark.operator.task

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection}
import org.json4s.JsonAST.JObject
import org.json4s.JsonDSL._

import io.snapline.error.InternalError
import io.snapline.spark.operator.channel.RowLimit
import io.snapline.spark.operator.frames.{WorkerFrame, FrameBuilder, WorkerLink}
import io.snapline.spark.operator.state.{KeyScan, OperatorStates, StateAccess, StateSync, Timers}

/** The rows and timers of one micro-batch in a task of the keyed operator: feeds the worker, applies what it changed,
  * hands on what it emits. Order: docs/notes/003-keyed-process.md.
  *
  * @param limit
  *   how many rows there is time for
  * @param isLast
  *   whether the worker is done afterwards; if not, it can be set up again
  */
final class KeyedTask(
    val setup: TaskSetup,
    link: WorkerLink,
    feed: Feed,
    states: TaskStates,
    lateOutput: mutable.Queue[InternalRow],
    limit: RowLimit,
    isLast: Boolean,
    place: TaskPlace
) extends KeyedRows
    with AutoCloseable {
  import KeyedTask._
  import states.{access, exchanges, operator, timers}

  private val keys = access.keys
  private val output = access.reader(WorkerFrame.OutputPart, setup.output)
  private val timerChanges = access.reader(WorkerFrame.TimerChangesPart, Timers.changed)
  private val changes = exchanges.map(e => access.reader(WorkerFrame.changesPart(e.index), e.changed))
  private val keyScan =
    new KeyScan(setup.key, exchanges, access, setup.limits.chunkRows, () => feed.endEpoch())
  private val requests = exchanges.map(e => access.reader(WorkerFrame.statePart(e.index), e.sent))
  private val toRow = UnsafeProjection.create(setup.output.zipWithIndex.map { case (field, i) =>
    BoundReference(i, field.dataType, nullable = true)
  })

  private val dueEvent = setup.watermark.getOrElse(Long.MinValue)
  private val pulse = feed.live.map(new Pulse(_, setup.limits.tickMillis))

  private var phase: Phase = Rows
  private var emitted: java.util.Iterator[InternalRow] = java.util.Collections.emptyIterator()
  private var underWay = 0

  /** The number of frames under way that hold rows; they are the first ones. */
  private var rowChunks = 0
  private var epochEnding = false
  private var ended = false
  private var closed = false
  private var nextRow: InternalRow = _

  override def metrics: Map[String, Long] = reported
  override def epochs: Long = epochCount
  private var reported: Map[String, Long] = Map.empty
  private var epochCount = 0L

  /** Whether rows, or timers alone, were left. */
  def hasStopped: Boolean = stopped

  /** How many rows were processed, and those that were not. */
  def taken: Long = feed.taken - limit.returned.size
  def rest: Iterator[InternalRow] = limit.returned.iterator ++ feed.rest

  private var stopped = false

  // Nobody else can close a task that was not made.
  try start()
  catch {
    case e: Throwable =>
      close()
      throw e
  }

  private def start(): Unit = {
    val frame = new FrameBuilder(WorkerFrame.Setup)
    feed.writers.foreach(_.describe(frame))
    output.describe(frame)
    timerChanges.describe(frame)
    changes.foreach(_.describe(frame))
    exchanges.foreach(_.describe(frame))
    operator.describe(frame)
    link.send(frame.build(setup.describe(place, limit.timeLeftMs)))
  }

  override def hasNext: Boolean = {
    if (nextRow == null) nextRow = advance()
    nextRow != null
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException
    val row = nextRow
    nextRow = null
    row
  }

  private def advance(): InternalRow = {
    while (!ended || emitted.hasNext || lateOutput.nonEmpty) {
      if (emitted.hasNext) return toRow(emitted.next())
      if (lateOutput.nonEmpty) return lateOutput.dequeue()
      send()
      receive()
    }
    null
  }

  /** Sends what may be sent now. While an epoch ends nothing may: the store must not be read before the changes are in
    * it.
    */
  private def send(): Unit = {
    var goesOn = true
    while (goesOn && !epochEnding && underWay < Window && phase != Ending) phase match {
      case Rows if pulse.exists(_.isDue) => tick(pulse.get)
      case Rows if pulse.exists(_.isIdle) =>
        // With something under way the worker's answer is what comes next.
        goesOn = underWay == 0
        if (goesOn) pulse.get.await()
      case Rows if stopped || feed.hasRows && feed.mayStop && limit.next(1) == 0 => stop()
      case Rows if feed.hasRows =>
        val (frame, meta, end) = feed.next(limit)
        rowChunks += 1
        ship(frame, meta, end)
      case Rows if limit.waitsAtEnd => stop()
      case Rows if pulse.isDefined && feed.epochIsOpen => endEpoch()
      case Rows => phase = Firing
      case Firing => if (setup.spec.keyed && setup.firesTimers) fire() else finish()
      case Ending => ()
    }
  }

  /** The worker's changes go to the store, which has little to do at the batch's end then. Timers of the clock fire,
    * whether or not rows come.
    */
  private def tick(pulse: Pulse): Unit =
    if (feed.epochIsOpen) endEpoch()
    else {
      val due = setup.dueProcessingTime
      val round = timers.take(Timers.ProcessingTime, due, setup.limits.chunkRows)
      if (round.isEmpty) pulse.passed() else fire(round, due)
    }

  private def endEpoch(): Unit = {
    val (frame, meta) = feed.last()
    ship(frame, meta, end = true)
  }

  /** Rows that the worker holds come back first. */
  private def stop(): Unit = {
    stopped = true
    if (feed.epochIsOpen) endEpoch() else finish()
  }

  /** A round of timers, those of event time first; a callback may make one of either kind due, so that rounds go on
    * until there is none.
    */
  private def fire(): Unit = {
    val event = timers.take(Timers.EventTime, dueEvent, setup.limits.chunkRows)
    val due = setup.dueProcessingTime
    val round = if (event.isEmpty) timers.take(Timers.ProcessingTime, due, setup.limits.chunkRows) else event
    if (round.isEmpty) finish() else fire(round, due)
  }

  private def fire(round: Timers.Round, dueProcessing: Long): Unit = {
    val (frame, meta, sent) = feed.timers(round, (dueEvent, dueProcessing))
    timers.giveBack(round, sent.timers.length)
    ship(frame, meta, end = true)
  }

  private def ship(frame: FrameBuilder, meta: JObject, end: Boolean): Unit = {
    link.send(frame.build(pulse.fold(meta)(_ => meta ~ ("now_ms" -> System.currentTimeMillis()))))
    underWay += 1
    epochEnding = end
  }

  private def finish(): Unit = {
    link.send(new FrameBuilder(WorkerFrame.End).build("more" -> !isLast))
    if (isLast) link.finish()
    phase = Ending
  }

  private def receive(): Unit = {
    val frame = link.receive()
    if (frame == null) ended = true
    else
      frame.kind match {
        case WorkerFrame.Output => emitted = output.read(frame, 0).rowIterator()
        case WorkerFrame.Changes => (0 until frame.parts).foreach(change(frame, _))
        case WorkerFrame.Done =>
          underWay -= 1
          if (rowChunks > 0) {
            rowChunks -= 1
            val left = frame.long("left").toInt
            limit.through(left)
            if (left > 0) stopped = true
          }
          feed.held = frame.long("held")
        case WorkerFrame.EpochDone =>
          feed.endEpoch()
          epochCount += 1
          epochEnding = false
        case WorkerFrame.Fetch => fetch(frame)
        case WorkerFrame.Finished =>
          reported = frame.numbers("metrics")
          ended = !isLast
        case other => throw new InternalError(s"The worker sent a frame of kind $other.")
      }
  }

  private def change(frame: WorkerFrame, part: Int): Unit =
    if (frame.id(part) == WorkerFrame.TimerChangesPart) timers.change(timerChanges.read(frame, part), keys)
    else if (operator.has(frame.id(part))) operator.change(frame, part)
    else {
      val index = frame.id(part) - WorkerFrame.changesPart(0)
      exchanges(index).change(changes(index).read(frame, part))
    }

  private def fetch(frame: WorkerFrame): Unit =
    if (frame.text("what") == "keys") keyScan.answer(frame).foreach(link.send)
    else fetchState(frame)

  private def fetchState(frame: WorkerFrame): Unit = {
    val request = frame.long("request")
    val exchange = exchanges(frame.long("state").toInt)
    if (frame.flag("close")) exchange.closeRequest(request)
    else {
      val answer = new FrameBuilder(WorkerFrame.Fetched)
      val slot = frame.long("slot").toInt
      frame.text("what") match {
        case "scan" =>
          val more = exchange.fetchPage(request, slot, answer)
          link.send(answer.build(("request" -> request) ~ ("more" -> more)))
        case _ =>
          val wanted = if (frame.parts == 0) null else requests(exchange.index).read(frame, 0)
          val answered = exchange.fetchEntries(slot, wanted, answer)
          link.send(answer.build(("request" -> request) ~ ("answered" -> answered)))
      }
    }
  }

  override def close(): Unit = if (!closed) {
    closed = true
    feed.writers.foreach(_.close())
    output.close()
    timerChanges.close()
    (changes ++ requests).foreach(_.close())
    exchanges.foreach(_.close())
    keyScan.close()
    operator.close()
  }
}

/** The states of a task: those of keys, their timers, and operator state.
  *
  * @param exchanges
  *   the states of keys, in the order of the spec
  * @param access
  *   shared by all of them
  */
final case class TaskStates(exchanges: Seq[StateSync], timers: Timers, access: StateAccess, operator: OperatorStates)

/** The number of a task's partition, and the number of all of its operator. */
final case class TaskPlace(partition: Int, partitions: Int)

private object KeyedTask {

  /** Chunks under way: the worker has one in hand while the next is made. */
  val Window = 2

  sealed trait Phase
  case object Rows extends Phase
  case object Firing extends Phase
  case object Ending extends Phase
}
