package io.snapline.spark.operator.channel

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.control.NonFatal

import org.json4s.jackson.JsonMethods
import org.json4s.JsonAST._

import io.snapline.error._
import io.snapline.snapshot.format.{Frame, FrameReader, FrameWriter}
import io.snapline.storage.CheckpointStorage

/** Records where one partition was cut in one micro-batch (docs/FORMAT.md section 12):
  * `<batch>/<operator>-<partition>`.
  *
  * A record is durable before its task ends, so that a sink has no output of a cut that a second run would not repeat.
  * The first attempt of all to run the batch may make one when it stops early; every later attempt follows what it
  * finds, or notes that it stopped nowhere. The first attempt takes the name: one that Spark has abandoned and that
  * still runs cannot say otherwise afterwards. The driver deletes the records of batches that no replay can reach.
  */
private[spark] final class CutRecords(storage: CheckpointStorage, batch: Long, operator: Long, partition: Int) {
  private val name = s"$batch/$operator-$partition"

  /** None: no attempt has noted anything.
    *
    * @param committed
    *   the batch ran to its end: what there is must be whole. If not, an attempt may have died writing.
    */
  private[operator] def find(committed: Boolean): Option[CutRecord] =
    try Some(read())
    catch {
      case _: StateNotFound => None
      case _: CheckpointDamaged if !committed =>
        storage.delete(name): Unit
        None
    }

  private def read(): CutRecord = {
    val reader = new FrameReader(storage, name, Frame.CutMagic)
    try {
      val left = Seq.newBuilder[RowIdentity]
      reader.foreachBlock((bytes, length) => left ++= RowIdentity.read(bytes, length))
      parse(reader.meta, left.result())
    } finally reader.close()
  }

  private def parse(meta: Array[Byte], left: Seq[RowIdentity]): CutRecord =
    try {
      val json = JsonMethods.parse(new String(meta, UTF_8))
      def number(name: String): Long = json \ name match {
        case JInt(value) => value.toLong
        case other => throw new IllegalArgumentException(s"$name is $other")
      }
      if (Seq(number("batch"), number("operator"), number("partition")) != Seq(batch, operator, partition.toLong)) {
        throw new IllegalArgumentException("it is of another batch or partition")
      }
      json \ "cut" match {
        case JString("none") => CutRecord.Whole
        case JString("at") => CutRecord.At(number("segment"), number("processed"))
        case JString("within") if number("rows") == left.size => CutRecord.Within(left)
        case other => throw new IllegalArgumentException(s"cut is $other, with ${left.size} rows")
      }
    } catch {
      case e: SnaplineException => throw e
      case NonFatal(e) => throw Frame.damaged(storage.path(name), e.getMessage)
    }

  /** Fails if another attempt was first: a third one then does what that one noted. */
  private[operator] def write(record: CutRecord): Unit = {
    val cut: List[JField] = record match {
      case CutRecord.Whole => List("cut" -> JString("none"))
      case CutRecord.At(segment, processed) =>
        List("cut" -> JString("at"), "segment" -> JInt(segment), "processed" -> JInt(processed))
      case CutRecord.Within(left) => List("cut" -> JString("within"), "rows" -> JInt(left.size))
    }
    val place = List("batch" -> JInt(batch), "operator" -> JInt(operator), "partition" -> JInt(partition))
    val meta = JObject(("kind" -> JString("cut")) :: place ::: cut)
    val frame = new FrameWriter(storage.create(name), Frame.CutMagic, compress = false)
    try {
      record match {
        case CutRecord.Within(left) =>
          left.grouped(CutRecords.BlockRows).foreach { rows =>
            val bytes = RowIdentity.write(rows)
            frame.block(bytes, 0, bytes.length)
          }
        case _ => ()
      }
      frame.finish(JsonMethods.compact(meta).getBytes(UTF_8))
    } catch { case e: Throwable => frame.abandon(); throw e }
  }
}

private[spark] object CutRecords {
  private val BlockRows = 1 << 16
}

/** Where a partition's task stopped in a micro-batch. */
private[operator] sealed trait CutRecord

private[operator] object CutRecord {

  /** Nowhere: all rows were processed, and no attempt may say anything else. */
  case object Whole extends CutRecord

  /** In the segment of an earlier batch, or at the very beginning of one; all that comes after waits too.
    *
    * @param processed
    *   rows of it that were processed in this batch
    */
  final case class At(batch: Long, processed: Long) extends CutRecord

  /** Among the batch's own rows: these wait. Their order is not said, because the shuffle brings them in another each
    * time.
    */
  final case class Within(left: Seq[RowIdentity]) extends CutRecord
}
