package io.snapline.snapshot.format

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.snapline.error.CheckpointDamaged

/** Reads members of a file's meta and believes nothing: one that is missing or of another kind is damage. */
private[snapline] object JsonMembers {
  private val mapper = new ObjectMapper

  def number(json: JsonNode, name: String): Long =
    member(json, name, value => value.canConvertToLong && value.isIntegralNumber && value.asLong >= 0).asLong

  def int(json: JsonNode, name: String): Int =
    member(json, name, value => value.canConvertToInt && value.isIntegralNumber && value.asInt >= 0).asInt

  def text(json: JsonNode, name: String): String = member(json, name, _.isTextual).asText

  def flag(json: JsonNode, name: String): Boolean = member(json, name, _.isBoolean).asBoolean

  def items(json: JsonNode, name: String): Seq[JsonNode] = member(json, name, _.isArray).asScala.toSeq

  /** The member `uid`. It becomes part of a file's name. */
  def uid(json: JsonNode): String = {
    val uid = text(json, "uid")
    if (VersionRef.isUid(uid)) uid else throw new IllegalArgumentException(s"$uid is no uid")
  }

  def crc32c(json: JsonNode): Int = number(json, "crc32c").toInt

  def member(json: JsonNode, name: String, fits: JsonNode => Boolean): JsonNode = {
    val value = json.get(name)
    if (value == null) throw new IllegalArgumentException(s"$name is missing")
    if (!fits(value)) throw new IllegalArgumentException(s"$name is $value")
    value
  }

  def reading[A](bytes: Array[Byte], file: String)(body: JsonNode => A): A =
    try body(mapper.readTree(bytes))
    catch {
      case e: CheckpointDamaged => throw e
      case e: Exception => throw Frame.damaged(file, s"its meta cannot be read: ${e.getMessage}")
    }
}
