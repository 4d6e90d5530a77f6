package io.snapline.snapshot.format

import scala.jdk.CollectionConverters._
import scala.util.Random

import com.fasterxml.jackson.core.{JsonFactory, StreamWriteConstraints}
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

/** JSON that a reader knows, with one to three things in it that were not meant: numbers that are lengths, texts that
  * become names of files.
  */
final class HostileJson(chance: Random) {

  /** Writes what is nested deeper than a reader takes: two deep changes, one in the other, are. */
  private val mapper = {
    val factory = new JsonFactory
    factory.setStreamWriteConstraints(StreamWriteConstraints.builder.maxNestingDepth(10000).build)
    new ObjectMapper(factory)
  }

  private val extremes: IndexedSeq[JsonNode] = IndexedSeq(
    "null",
    "true",
    "-1",
    "0",
    "2147483647",
    "9223372036854775807",
    "1" + "0" * 40,
    "1.5",
    "1e308",
    "\"\"",
    "\"..\"",
    "\"../../etc\"",
    "\"/etc\"",
    "\"a/../../b\"",
    "\"a\\u0000b\"",
    "[]",
    "{}",
    "[null]",
    "[" * 500 + "]" * 500
  ).map(mapper.readTree)

  def changed(bytes: Array[Byte]): Array[Byte] = {
    val json = mapper.readTree(bytes)
    (0 to chance.nextInt(3)).foreach { _ =>
      val places = placesIn(json)
      if (places.nonEmpty) places(chance.nextInt(places.size))(chance.nextInt(4))
    }
    mapper.writeValueAsBytes(json)
  }

  /** For each member and item, however deep, what changes it. */
  private def placesIn(json: JsonNode): IndexedSeq[Int => Unit] = json match {
    case members: ObjectNode =>
      members.properties().asScala.toIndexedSeq.flatMap { member =>
        val here = (what: Int) =>
          if (what == 0) members.remove(member.getKey): Unit else members.set[JsonNode](member.getKey, any()): Unit
        here +: placesIn(member.getValue)
      }
    case items: ArrayNode =>
      (0 until items.size).flatMap { index =>
        val here = (what: Int) =>
          if (index < items.size) what match {
            case 0 => items.remove(index): Unit
            case 1 => items.add(items.get(index).deepCopy[JsonNode]()): Unit
            case _ => items.set(index, any()): Unit
          }
        here +: placesIn(items.get(index))
      }
    case _ => IndexedSeq.empty
  }

  private def any(): JsonNode = extremes(chance.nextInt(extremes.size)).deepCopy[JsonNode]()
}
