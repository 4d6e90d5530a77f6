package io.snapline.spark.operator.state

import java.nio.ByteBuffer

import org.apache.spark.sql.execution.streaming.state.snapline.StoreCalls
import org.apache.spark.sql.types.StructType
import org.json4s.JsonDSL._

import io.snapline.spark.operator.frames.{ByteBudget, WorkerFrame, FrameBuilder}

/** Answers for `apply_to_keyed_state`: all keys that have a state, page by page, each page with that state and slots of
  * its own.
  */
final class KeyScan(
    key: StructType,
    exchanges: Seq[StateSync],
    access: StateAccess,
    pageKeys: Int,
    endEpoch: () => Unit
) extends AutoCloseable {
  // The same part as of a chunk of rows, which is described there.
  private val writer = access.writer(WorkerFrame.KeysPart, key)
  private var found: EpochKeys = _
  private var at = 0
  private val page = new NewKeys

  /** None: the worker wants no more. Its changes of the page before are in the store by now. */
  def answer(request: WorkerFrame): Option[Array[ByteBuffer]] = {
    val exchange = exchanges(request.long("state").toInt)
    endEpoch()
    if (request.flag("close")) {
      found = null
      None
    } else {
      if (!request.flag("next")) begin(exchange.spec)
      val answer = new FrameBuilder(WorkerFrame.Fetched)
      gather()
      val rows = exchange.lookUp(page, page.until, new ByteBudget(access.pageBytes))
      page.cut(rows)
      at += rows
      writer.flushFirst(rows, answer)
      exchange.send(page, rows, answer)
      Some(answer.build(("request" -> request.long("request")) ~ ("more" -> (at < found.size))))
    }
  }

  /** The keys of the next page, of which not all may have room for their state. */
  private def gather(): Unit = {
    page.clear()
    var bytes = 0L
    while (page.until < pageKeys && at + page.until < found.size && bytes < access.pageBytes) {
      val key = found(at + page.until)
      bytes += key.getSizeInBytes
      access.keys.slotOf(key)
      writer.write(key)
      page.add(page.until)
    }
  }

  /** Gathers the keys first, so that what the function writes cannot disturb the scan. */
  private def begin(spec: StateSpec): Unit = {
    found = new EpochKeys
    at = 0
    val entries =
      if (spec.kind == StateSpec.ListKind) StoreCalls.lists(access.store, spec.name)
      else access.store.iterator(spec.name)
    try entries.foreach { entry =>
        val stored = entry.key
        found.slotOf(if (spec.kind == StateSpec.MapKind) stored.getStruct(0, key.length) else stored): Unit
      }
    finally entries.close()
  }

  override def close(): Unit = writer.close()
}
