package org.apache.spark.sql.connect.snapline

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.control.NonFatal

import org.json4s.{DefaultFormats, Formats, JValue}
import org.json4s.jackson.JsonMethods

import io.snapline.error.{InternalError, WrongSparkVersion}
import io.snapline.spark.settings.SparkLineCheck

/** A message of a client: a header in JSON, with its own length before it, and parts whose lengths the header has.
  *
  * A length comes from the client, too: no memory is taken for what is not there.
  */
private[snapline] final class MessageParts(value: Array[Byte]) {
  private implicit val formats: Formats = DefaultFormats
  private val bytes = ByteBuffer.wrap(value)

  val header: JValue =
    try {
      if (bytes.remaining < Integer.BYTES) throw damaged(s"${bytes.remaining} bytes")
      JsonMethods.parse(new String(next(bytes.getInt), UTF_8))
    } catch { case NonFatal(e) => throw damaged(e.toString) }

  // The rest of the header may be another in another version.
  checkVersion()

  def text(name: String): String = (header \ name).extractOrElse[String](throw damaged(s"no $name"))

  def texts(name: String): Seq[String] = (header \ name).extractOrElse[Seq[String]](throw damaged(s"no $name"))

  /** The parts that stand next. To be asked for in the order in which the client has written them. */
  def parts(name: String)
      : Seq[Array[Byte]] = (header \ name).extractOrElse[Seq[Int]](throw damaged(s"no $name")).map(next)

  private def next(length: Int): Array[Byte] = {
    if (length < 0 || length > bytes.remaining) throw damaged(s"a part of $length bytes, of ${bytes.remaining}")
    val part = new Array[Byte](length)
    bytes.get(part)
    part
  }

  private def damaged(how: String) = new InternalError(s"A client sent no message of Snapline: $how.")

  private def checkVersion(): Unit = {
    val version = (header \ "version").extractOrElse("unknown")
    if (version != SparkLineCheck.version) {
      throw new WrongSparkVersion(
        s"The client has Snapline $version, and the server's jar is of ${SparkLineCheck.version}.",
        "let both be of one version: pip install on the client, or another jar on the server."
      )
    }
  }
}
