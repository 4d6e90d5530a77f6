package io.snapline.spark.operator.frames

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8

import org.json4s.JsonAST.{JBool, JInt, JObject, JString, JValue}
import org.json4s.jackson.JsonMethods

import io.snapline.error.InternalError

/** The frames between the operator and its worker; docs/notes/003-keyed-process.md is the authority. */
object WorkerFrame {

  // operator to worker
  val Setup = 1
  val Rows = 2
  val Timers = 3
  val Fetched = 4
  val End = 5
  val States = 6
  val Broadcast = 7

  // worker to operator
  val Output = 1
  val Changes = 2
  val Done = 3
  val EpochDone = 4
  val Fetch = 5
  val Finished = 6

  // parts
  val RowsPart = 1
  val KeysPart = 2
  val TimersPart = 3
  val BroadcastPart = 4
  val OutputPart = 10
  val TimerChangesPart = 11
  def statePart(state: Int): Int = 100 + state
  def notSentPart(state: Int): Int = 200 + state
  def changesPart(state: Int): Int = 300 + state
  def operatorPart(state: Int): Int = 400 + state
  def operatorChangesPart(state: Int): Int = 500 + state

  def padded(length: Int): Int = (length + 7) & ~7

  /** Reads what stands behind a frame's length. */
  def read(bytes: Array[Byte]): WorkerFrame = {
    val in = ByteBuffer.wrap(bytes)
    val kind = in.getInt()
    val metaLength = in.getInt()
    val count = in.getInt()
    val ids = new Array[Int](count)
    val lengths = new Array[Int](count)
    (0 until count).foreach { i =>
      ids(i) = in.getInt()
      lengths(i) = in.getInt()
    }
    val meta =
      if (metaLength == 0) JObject()
      else JsonMethods.parse(new String(bytes, in.position(), metaLength, UTF_8))
    val offsets = new Array[Int](count)
    var offset = padded(in.position() + metaLength)
    (0 until count).foreach { i =>
      offsets(i) = offset
      offset += padded(lengths(i))
    }
    new WorkerFrame(kind, meta, bytes, ids, offsets, lengths)
  }
}

/** A frame that has arrived. */
final class WorkerFrame(
    val kind: Int,
    meta: JValue,
    val bytes: Array[Byte],
    ids: Array[Int],
    offsets: Array[Int],
    lengths: Array[Int]
) {
  def parts: Int = ids.length
  def id(part: Int): Int = ids(part)
  def offset(part: Int): Int = offsets(part)
  def length(part: Int): Int = lengths(part)

  def long(name: String): Long = meta \ name match {
    case JInt(value) => value.toLong
    case other => throw new InternalError(s"The worker sent $other as '$name' of a frame of kind $kind.")
  }

  def text(name: String): String = meta \ name match {
    case JString(value) => value
    case other => throw new InternalError(s"The worker sent $other as '$name' of a frame of kind $kind.")
  }

  def flag(name: String): Boolean = meta \ name match {
    case JBool(value) => value
    case _ => false
  }

  def numbers(name: String): Map[String, Long] = meta \ name match {
    case JObject(fields) => fields.collect { case (key, JInt(value)) => key -> value.toLong }.toMap
    case _ => Map.empty
  }
}
