package io.snapline.spark.sink.kafka

import java.nio.charset.StandardCharsets.UTF_8

import io.snapline.spark.sink.SinkId

/** The key of a marker in the topic of markers, and the transactional id of its partition: one text. */
private[kafka] final case class MarkerKey(sink: SinkId, partition: Int) {
  def text: String = s"snapline-${sink.query}-${sink.name}-$partition"

  def bytes: Array[Byte] = text.getBytes(UTF_8)

  /** The partition of the topic of markers that has it. Markers are on disk: it is never another. */
  def log(partitions: Int): Int = Math.floorMod(text.hashCode, partitions)
}

private[kafka] object MarkerKey {

  /** None: of another sink. */
  def partitionOf(sink: SinkId, key: String): Option[Int] = {
    val prefix = MarkerKey(sink, 0).text.stripSuffix("0")
    if (key.startsWith(prefix)) key.substring(prefix.length).toIntOption.filter(_ >= 0) else None
  }
}
