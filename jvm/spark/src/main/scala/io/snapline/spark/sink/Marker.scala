package io.snapline.spark.sink

import com.fasterxml.jackson.databind.ObjectMapper

import io.snapline.error.IncompatibleState

/** The newest batch of one partition that a sink has. It is written in the transaction of the rows, so that both are
  * there or neither is.
  *
  * @param batch
  *   number of the micro-batch
  * @param partitions
  *   how many partitions that micro-batch had
  * @param rows
  *   how many rows of it are in this partition
  * @param digest
  *   RowDigest of these rows, whatever their order
  */
private[sink] final case class Marker(batch: Long, partitions: Int, rows: Long, digest: Long) {

  def json: String = s"""{"batch":$batch,"partitions":$partitions,"rows":$rows,"digest":"${Marker.hex(digest)}"}"""
}

private[sink] object Marker {
  private val mapper = new ObjectMapper()

  def parse(json: String): Marker = {
    val fields =
      try mapper.readTree(json)
      catch { case _: Exception => mapper.missingNode }
    if (!fields.path("batch").isIntegralNumber) {
      throw new IncompatibleState(s"$json is no marker of a sink.", "name another place for the markers.")
    }
    Marker(
      fields.path("batch").asLong,
      fields.path("partitions").asInt,
      fields.path("rows").asLong,
      number(fields.path("digest").asText)
    )
  }

  def hex(digest: Long): String = f"$digest%016x"

  def number(hex: String): Long = java.lang.Long.parseUnsignedLong(hex, 16)
}
