package io.snapline.spark.operator

import java.nio.ByteBuffer
import java.util.concurrent.{LinkedBlockingQueue, TimeUnit}

import scala.collection.mutable
import scala.util.Try

import org.apache.arrow.memory.BufferAllocator
import org.apache.arrow.vector.types.pojo.Schema
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType
import org.json4s.JsonAST.JObject
import org.json4s.JsonDSL._

import io.snapline.spark.operator.frames.{WorkerFrame, FrameBuilder, PartReader, PartWriter, WorkerLink}
import io.snapline.spark.operator.state.{StateSync, Timers}
import io.snapline.spark.operator.task.TaskSetup

/** Plays the Python worker for KeyedProgram, on a thread of its own, and checks the order the protocol demands. State 0
  * is a value, 1 a list, 2 a map.
  *
  * @param stops
  *   asked before each row but the first, where a worker has a time limit: whether it is over
  */
final class FakeWorker(
    exchanges: Seq[StateSync],
    setup: TaskSetup,
    allocator: BufferAllocator,
    schemaOf: StructType => Schema,
    stops: () => Boolean = () => false
) extends WorkerLink {
  private val incoming = new LinkedBlockingQueue[WorkerFrame]
  private val outgoing = new LinkedBlockingQueue[Either[Throwable, WorkerFrame]]
  @volatile private var epochOpen = false
  @volatile private var complaint: Option[String] = None
  var fetches = 0

  /** The batch of the rows and the one that runs, of each SETUP. To be read after `join`. */
  val batches = mutable.ArrayBuffer.empty[(Long, Long)]

  private def reader(id: Int, schema: StructType) = new PartReader(id, schemaOf(schema), allocator)
  private def writer(id: Int, schema: StructType) = new PartWriter(id, schemaOf(schema), allocator)

  // ---- the operator's side

  override def send(buffers: Array[ByteBuffer]): Unit = {
    val bytes = new Array[Byte](buffers.map(_.remaining()).sum)
    val all = ByteBuffer.wrap(bytes)
    buffers.foreach(all.put)
    assert(ByteBuffer.wrap(bytes).getInt == bytes.length - 4)
    val frame = WorkerFrame.read(bytes.drop(4))
    if (frame.kind == WorkerFrame.Rows || frame.kind == WorkerFrame.Timers) {
      if (epochOpen) complaint = Some("a chunk was sent while an epoch was ending")
      epochOpen = frame.flag("end_of_epoch")
    }
    incoming.add(frame): Unit
  }

  override def receive(): WorkerFrame = {
    complaint.foreach(text => throw new AssertionError(text))
    Option(outgoing.poll(20, TimeUnit.SECONDS)).getOrElse(throw new AssertionError("the worker is silent")) match {
      case Right(frame) if frame.kind == -1 => null
      case Right(frame) =>
        if (frame.kind == WorkerFrame.EpochDone) epochOpen = false
        frame
      case Left(error) => throw new AssertionError(error)
    }
  }

  override def finish(): Unit = ()

  private def emit(kind: Int, meta: JObject = JObject())(parts: FrameBuilder => Unit): Unit = {
    val frame = new FrameBuilder(kind)
    parts(frame)
    val bytes = frame.build(meta).map { b =>
      val copy = new Array[Byte](b.remaining())
      b.get(copy)
      copy
    }
    outgoing.add(Right(WorkerFrame.read(bytes.flatten.drop(4)))): Unit
  }

  // ---- the worker's side

  private val rowReader =
    reader(WorkerFrame.RowsPart, StructType(setup.inputSchema.fields :+ new StructType().add("__slot", "int").head))
  private val keyReader = reader(WorkerFrame.KeysPart, setup.key)
  private val timerReader = reader(WorkerFrame.TimersPart, Timers.sent)
  private val stateReaders = exchanges.map(e => reader(WorkerFrame.statePart(e.index), e.sent))
  private val notSentReader = reader(0, new StructType().add("slot", "int"))
  private val outputWriter = writer(WorkerFrame.OutputPart, setup.output)
  private val timerWriter = writer(WorkerFrame.TimerChangesPart, Timers.changed)
  private val changeWriters = exchanges.map(e => writer(WorkerFrame.changesPart(e.index), e.changed))
  private val requestWriters = exchanges.map(e => writer(WorkerFrame.statePart(e.index), e.sent))

  private final class Slot(val number: Int, val key: Long) extends KeyedState {
    var stored: Option[Long] = None
    var valueChanged = false
    var listKnown = true
    var base = Vector.empty[Long]
    var cleared = false
    val appended = mutable.ArrayBuffer.empty[Long]
    var mapKnown = true
    var mapCleared = false
    val known = mutable.Map.empty[Long, Option[Long]]
    val changedEntries = mutable.LinkedHashSet.empty[Long]
    val timerOps = mutable.ArrayBuffer.empty[(Long, Byte)]

    override def value: Option[Long] = stored
    override def value_=(value: Option[Long]): Unit = { stored = value; valueChanged = true }

    override def list: Seq[Long] = {
      if (!listKnown && !cleared) {
        base = page(1, number).map(_.getLong(1)).toVector
        listKnown = true
      }
      (if (cleared) Vector.empty else base) ++ appended
    }
    override def append(element: Long): Unit = appended += element: Unit
    override def clearList(): Unit = { cleared = true; appended.clear() }

    override def entry(at: Long): Option[Long] = known.getOrElseUpdate(
      at,
      if (mapKnown || mapCleared) None else one(number, at)
    )
    override def put(at: Long, value: Long): Unit = { known(at) = Some(value); changedEntries += at: Unit }
    override def remove(at: Long): Unit = { known(at) = None; changedEntries += at: Unit }
    override def entries: Map[Long, Long] = {
      if (!mapKnown && !mapCleared) {
        page(2, number).foreach(row =>
          if (!known.contains(row.getLong(1))) known(row.getLong(1)) = Some(row.getLong(2))
        )
        mapKnown = true
      }
      known.collect { case (k, Some(v)) => k -> v }.toMap
    }
    override def clearMap(): Unit = { mapCleared = true; known.clear(); changedEntries.clear() }
    override def register(time: Long): Unit = timerOps += time -> 0.toByte: Unit
    override def delete(time: Long): Unit = timerOps += time -> 1.toByte: Unit
  }

  private val slots = mutable.ArrayBuffer.empty[Slot]
  private val waiting = mutable.Queue.empty[WorkerFrame]
  private var request = 0L

  private def answer(): WorkerFrame = {
    var frame = incoming.take()
    while (frame.kind != WorkerFrame.Fetched) {
      waiting += frame
      frame = incoming.take()
    }
    frame
  }

  private def rowsOf(state: Int, frame: WorkerFrame): Seq[InternalRow] = (0 until frame.parts).flatMap { part =>
    if (frame.id(part) != WorkerFrame.statePart(state)) Nil
    else {
      val batch = stateReaders(state).read(frame, part)
      (0 until batch.numRows()).map(i => batch.getRow(i).copy(): InternalRow)
    }
  }

  private def page(state: Int, slot: Int): Seq[InternalRow] = {
    request += 1
    fetches += 1
    val rows = mutable.ArrayBuffer.empty[InternalRow]
    var more = true
    while (more) {
      emit(WorkerFrame.Fetch, ("request" -> request) ~ ("state" -> state) ~ ("slot" -> slot) ~ ("what" -> "scan"))(_ =>
        ()
      )
      val frame = answer()
      rows ++= rowsOf(state, frame)
      more = frame.flag("more")
    }
    rows.toSeq
  }

  private def one(slot: Int, at: Long): Option[Long] = {
    request += 1
    fetches += 1
    emit(WorkerFrame.Fetch, ("request" -> request) ~ ("state" -> 2) ~ ("slot" -> slot) ~ ("what" -> "entries")) {
      frame =>
        requestWriters(2).write(InternalRow(slot, at, 0L))
        requestWriters(2).flush(frame)
    }
    rowsOf(2, answer()).headOption.map(_.getLong(2))
  }

  private def load(frame: WorkerFrame): Unit = {
    val first = frame.long("first_slot").toInt
    (0 until frame.parts).foreach { part =>
      frame.id(part) match {
        case WorkerFrame.KeysPart =>
          val batch = keyReader.read(frame, part)
          (0 until batch.numRows()).foreach(i => slots += new Slot(first + i, batch.getRow(i).getLong(0)))
        case id if id == WorkerFrame.statePart(0) =>
          val batch = stateReaders.head.read(frame, part)
          assert(batch.numRows() == slots.size - first)
          (0 until batch.numRows()).foreach { i =>
            if (!batch.getRow(i).isNullAt(0)) slots(first + i).stored = Some(batch.getRow(i).getLong(0))
          }
        case id if id == WorkerFrame.statePart(1) =>
          rowsOf(1, frame).foreach(row => slots(row.getInt(0)).base :+= row.getLong(1))
        case id if id == WorkerFrame.statePart(2) =>
          rowsOf(2, frame).foreach(row => slots(row.getInt(0)).known(row.getLong(1)) = Some(row.getLong(2)))
        case id if id == WorkerFrame.notSentPart(1) || id == WorkerFrame.notSentPart(2) =>
          val batch = notSentReader.read(frame, part)
          (0 until batch.numRows()).foreach { i =>
            val slot = slots(batch.getRow(i).getInt(0))
            if (id == WorkerFrame.notSentPart(1)) slot.listKnown = false else slot.mapKnown = false
          }
        case _ => ()
      }
    }
  }

  private def put(outputs: Seq[KeyedProgram.Output]): Unit = if (outputs.nonEmpty) emit(WorkerFrame.Output) { frame =>
    outputs.foreach { case (a, b, c, d) => outputWriter.write(InternalRow(a, b, c, d)) }
    outputWriter.flush(frame)
  }

  private def part(frame: WorkerFrame, id: Int, reader: PartReader): Seq[InternalRow] = {
    val batch = reader.read(frame, (0 until frame.parts).find(frame.id(_) == id).get)
    (0 until batch.numRows()).map(i => batch.getRow(i).copy(): InternalRow)
  }

  /** How many of the last ones it has left. */
  private def rows(frame: WorkerFrame): Int = {
    val all = part(frame, WorkerFrame.RowsPart, rowReader)
    val inTime = all.takeWhile { _ =>
      hasStopped ||= isTimed && hasBegun && stops()
      hasBegun = true
      !hasStopped
    }
    run(inTime)
    all.size - inTime.size
  }

  private def run(rows: Seq[InternalRow]): Unit =
    put(rows.flatMap { row =>
      val slot = slots(row.getInt(3))
      assert(slot.key == row.getLong(0))
      KeyedProgram.row(row.getLong(0), row.getLong(1), row.getLong(2), slot)
    })

  /** In order of time; what a callback registers up to `through` is fired here and never travels. */
  private def timers(frame: WorkerFrame): Unit = {
    val through = frame.long("through")
    val due = mutable.SortedSet.empty[(Long, Int)]
    part(frame, WorkerFrame.TimersPart, timerReader).foreach(row => due += row.getLong(1) -> row.getInt(0))
    while (due.nonEmpty) {
      val (time, number) = due.head
      due -= due.head
      val slot = slots(number)
      val before = slot.timerOps.size
      put(KeyedProgram.timer(slot.key, time, slot))
      val made = slot.timerOps.drop(before).toSeq
      slot.timerOps.takeInPlace(before)
      made.foreach { case (at, op) =>
        if (op == 0 && (at <= through || due.contains(at -> number))) due += at -> number
        else if (op == 1 && due.contains(at -> number)) due -= at -> number
        else slot.timerOps += at -> op
      }
    }
  }

  private def flush(): Unit = {
    emit(WorkerFrame.Changes) { frame =>
      slots.foreach { slot =>
        slot.timerOps.foreach { case (time, op) => timerWriter.write(InternalRow(slot.number, time, 0.toByte, op)) }
        if (slot.valueChanged) changeWriters(0).write(InternalRow(slot.number, slot.stored.getOrElse(null)))
        if (slot.cleared) changeWriters(1).write(InternalRow(slot.number, 1.toByte, null))
        slot.appended.foreach(v => changeWriters(1).write(InternalRow(slot.number, 0.toByte, v)))
        if (slot.mapCleared) changeWriters(2).write(InternalRow(slot.number, 2.toByte, null, null))
        slot.changedEntries.foreach { at =>
          slot.known(at) match {
            case Some(v) => changeWriters(2).write(InternalRow(slot.number, 0.toByte, at, v))
            case None => changeWriters(2).write(InternalRow(slot.number, 1.toByte, at, null))
          }
        }
      }
      timerWriter.flush(frame)
      changeWriters.foreach(_.flush(frame))
    }
    slots.clear()
    emit(WorkerFrame.EpochDone)(_ => ())
  }

  private var isTimed = false
  private var hasBegun = false
  private var hasStopped = false

  private def work(): Unit = {
    var open = true
    var isSetUp = false
    while (open) {
      val frame = if (waiting.nonEmpty) waiting.dequeue() else incoming.take()
      frame.kind match {
        case WorkerFrame.Setup =>
          assert(!isSetUp)
          isSetUp = true
          batches += frame.long("batch_id") -> frame.long("running_batch_id")
          isTimed = Try(frame.long("time_left_ms")).isSuccess
          hasBegun = false
          hasStopped = false
        case WorkerFrame.Rows | WorkerFrame.Timers =>
          load(frame)
          val left = if (frame.kind == WorkerFrame.Rows) rows(frame) else { timers(frame); 0 }
          emit(WorkerFrame.Done, ("held" -> 0) ~ ("left" -> left))(_ => ())
          if (frame.flag("end_of_epoch")) flush()
        case WorkerFrame.End =>
          if (isSetUp) emit(WorkerFrame.Finished, "metrics" -> ("seen" -> 1))(_ => ())
          isSetUp = false
          open = frame.flag("more")
          if (!open) outgoing.add(Right(new WorkerFrame(-1, null, Array.empty, Array.empty, Array.empty, Array.empty)))
        case other => throw new AssertionError(s"a frame of kind $other")
      }
    }
    (Seq(rowReader, keyReader, timerReader, notSentReader, outputWriter, timerWriter) ++ stateReaders ++
      changeWriters ++ requestWriters).foreach(_.close())
  }

  private val thread = new Thread(() =>
    try work()
    catch { case error: Throwable => outgoing.add(Left(error)): Unit }
  )
  thread.setDaemon(true)
  thread.start()

  def join(): Unit = thread.join(20000)
}
