package io.snapline.spark.operator.channel

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.{DataType, StructType}
import org.json4s.jackson.JsonMethods
import org.json4s.JsonAST._

import io.snapline.error.CheckpointDamaged

/** The content of a partition's channel: entry 0 of its family, as JSON (docs/FORMAT.md section 12).
  *
  * @param segments
  *   the oldest first
  * @param schemas
  *   schemas of the rows that wait, by number
  */
private[channel] final case class ChannelIndex(
    nextBlock: Long,
    segments: Seq[WaitingSegment],
    schemas: Map[Int, RowSchema]
) {

  /** The number of a schema; one that is not there yet gets the next. */
  def numbered(schema: RowSchema): (ChannelIndex, Int) = schemas.find(_._2 == schema) match {
    case Some((number, _)) => (this, number)
    case None =>
      val number = (-1 +: schemas.keys.toSeq).max + 1
      (copy(schemas = schemas + (number -> schema)), number)
  }

  def bytes: Array[Byte] = {
    val used = segments.map(_.schema).toSet
    val json = JObject(
      "next_block" -> JInt(nextBlock),
      "schemas" -> JObject(schemas.toList.filter(s => used(s._1)).sortBy(_._1).map { case (number, schema) =>
        number.toString -> JsonMethods.parse(schema.columns.json)
      }),
      "keys" -> JObject(schemas.toList.filter(s => used(s._1)).sortBy(_._1).flatMap { case (number, schema) =>
        schema.key.map(key => number.toString -> JArray(key.map(JInt(_)).toList))
      }),
      "segments" -> JArray(segments.map(ChannelIndex.toJson).toList)
    )
    JsonMethods.compact(json).getBytes(UTF_8)
  }
}

private[channel] object ChannelIndex {
  val Empty: ChannelIndex = ChannelIndex(1, Nil, Map.empty)

  def parse(bytes: Array[Byte], where: String): ChannelIndex =
    try {
      val json = JsonMethods.parse(new String(bytes, UTF_8))
      val keys = json \ "keys"
      val schemas = json \ "schemas" match {
        case JObject(fields) => fields.map { case (number, schema) =>
            val columns = DataType.fromJson(JsonMethods.compact(schema)).asInstanceOf[StructType]
            number.toInt -> RowSchema(columns, key(keys \ number, columns))
          }.toMap
        case _ => throw new IllegalArgumentException("no schemas")
      }
      val segments = (json \ "segments").children.map(segment)
      segments.find(s => !schemas.contains(s.schema)).foreach { s =>
        throw new IllegalArgumentException(s"no schema ${s.schema}")
      }
      ChannelIndex(long(json, "next_block"), segments, schemas)
    } catch {
      case NonFatal(e) =>
        throw new CheckpointDamaged(
          s"The index of the channel state of $where cannot be read: ${e.getMessage}.",
          "go back to an older checkpoint (restore=), and report it with the log of the executor.",
          e
        )
    }

  private def toJson(s: WaitingSegment): JObject = JObject(
    "batch" -> JInt(s.segment.batch),
    "time_ms" -> JInt(s.segment.time),
    "watermark_ms" -> s.segment.watermark.fold[JValue](JNull)(JInt(_)),
    "rows_watermark_ms" -> s.segment.rowsWatermark.fold[JValue](JNull)(JInt(_)),
    "schema" -> JInt(s.schema),
    "first_block" -> JInt(s.firstBlock),
    "skip" -> JInt(s.skip),
    "block_rows" -> JArray(s.blockRows.map(JInt(_)).toList),
    "bytes" -> JInt(s.bytes)
  )

  private def key(json: JValue, columns: StructType): Option[Seq[Int]] = json match {
    case JArray(ordinals) =>
      val key = ordinals.collect { case JInt(ordinal) if columns.indices.contains(ordinal.toInt) => ordinal.toInt }
      if (key.size < ordinals.size) throw new IllegalArgumentException(s"a key is $ordinals")
      Some(key)
    case _ => None
  }

  private def segment(json: JValue): WaitingSegment = WaitingSegment(
    Segment(
      long(json, "batch"),
      long(json, "time_ms"),
      time(json, "watermark_ms"),
      time(json, "rows_watermark_ms")
    ),
    long(json, "schema").toInt,
    long(json, "first_block"),
    long(json, "skip").toInt,
    (json \ "block_rows").children.collect { case JInt(rows) => rows.toInt },
    long(json, "bytes")
  )

  private def time(json: JValue, name: String): Option[Long] = json \ name match {
    case JInt(value) => Some(value.toLong)
    case _ => None
  }

  private def long(json: JValue, name: String): Long = json \ name match {
    case JInt(value) => value.toLong
    case other => throw new IllegalArgumentException(s"$name is $other")
  }
}

/** A micro-batch whose rows, or some of them, wait in the channel: blocks `firstBlock` until
  * `firstBlock + blockRows.size`.
  *
  * @param schema
  *   number of the rows' schema
  * @param skip
  *   rows of the first block that have been processed
  * @param blockRows
  *   rows in each block
  */
private[channel] final case class WaitingSegment(
    segment: Segment,
    schema: Int,
    firstBlock: Long,
    skip: Int,
    blockRows: Seq[Int],
    bytes: Long
) {
  def rowCount: Long = blockRows.map(_.toLong).sum - skip

  /** Its rows in order. Each is good until the next is taken. */
  def rows(fields: Int, content: Long => Array[Byte]): Iterator[UnsafeRow] =
    blocks.iterator.zip(blockRows).zipWithIndex.flatMap { case ((block, rows), i) =>
      RowBlock.rows(content(block), fields, rows, if (i == 0) skip else 0)
    }

  def blocks: Seq[Long] = blockRows.indices.map(firstBlock + _)

  /** Without its first rows, and the blocks that are through with them. */
  def after(processed: Long): (WaitingSegment, Seq[Long]) = {
    var left = processed + skip
    var gone = 0
    while (gone < blockRows.size && left >= blockRows(gone)) {
      left -= blockRows(gone)
      gone += 1
    }
    val share = if (rowCount == 0) 0L else bytes * (rowCount - processed) / rowCount
    val rest = copy(firstBlock = firstBlock + gone, skip = left.toInt, blockRows = blockRows.drop(gone), bytes = share)
    (rest, blocks.take(gone))
  }
}

/** The times of one micro-batch, as its function saw them.
  *
  * @param time
  *   time of the batch, ms
  * @param watermark
  *   ms, after the rows; None without one
  * @param rowsWatermark
  *   ms, before the rows; None without one, and where an older jar wrote the rows
  */
final case class Segment(batch: Long, time: Long, watermark: Option[Long], rowsWatermark: Option[Long] = None)

/** The columns of rows that wait.
  *
  * @param key
  *   positions of the key's columns, which decide the partition of a row; None: not known
  */
private[spark] final case class RowSchema(columns: StructType, key: Option[Seq[Int]])
