package org.apache.spark.sql.connect.snapline

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.control.NonFatal

import org.json4s.{DefaultFormats, Formats, JValue}
import org.json4s.jackson.JsonMethods

import io.snapline.error.{InternalError, WrongSparkVersion}
import io.snapline.spark.settings.SparkLineCheck

/** A function and its inputs, as a client's package sends them (docs/notes/023-connect.md).
  *
  * @param call
  *   `plan`, `connect` or `begin`, as the functions of `KeyedProcessApi`
  * @param columns
  *   the order of a broadcast stream's rows, or the keys of the initial state
  * @param output
  *   the schema of the result, in JSON
  * @param spec
  *   all that the operator has to know of the function, in JSON
  * @param initialSpec
  *   the same of the function that makes the initial state
  * @param python
  *   the client's version of Python, which the workers have to have
  * @param inputs
  *   relations: that of the rows, and then the broadcast stream or the initial state
  * @param functions
  *   pickled: that of the rows, and then that of the initial state
  */
private[snapline] final case class FunctionMessage(
    call: String,
    keys: Seq[String],
    order: Seq[String],
    columns: Seq[String],
    output: String,
    spec: String,
    initialSpec: String,
    python: String,
    inputs: Seq[Array[Byte]],
    functions: Seq[Array[Byte]]
)

private[snapline] object FunctionMessage {
  private implicit val formats: Formats = DefaultFormats

  val TypeUrl = "type.googleapis.com/snapline.Function"

  /** A header in JSON, and then what it has the lengths of; before the header is its own. */
  def parse(value: Array[Byte]): FunctionMessage = {
    val bytes = ByteBuffer.wrap(value)
    // A length comes from the client, too: no memory is taken for what is not there.
    def next(length: Int): Array[Byte] = {
      if (length < 0 || length > bytes.remaining) throw damaged(s"a part of $length bytes, of ${bytes.remaining}")
      val part = new Array[Byte](length)
      bytes.get(part)
      part
    }
    val header =
      try JsonMethods.parse(new String(next(bytes.getInt), UTF_8))
      catch { case NonFatal(e) => throw damaged(e.toString) }
    checkVersion(header)
    def texts(name: String) = (header \ name).extract[Seq[String]]
    def parts(name: String) = (header \ name).extract[Seq[Int]].map(next)
    FunctionMessage(
      call = (header \ "call").extract[String],
      keys = texts("keys"),
      order = texts("order"),
      columns = texts("columns"),
      output = (header \ "output").extract[String],
      spec = (header \ "spec").extract[String],
      initialSpec = (header \ "initial_spec").extractOrElse(""),
      python = (header \ "python").extract[String],
      inputs = parts("inputs"),
      functions = parts("functions")
    )
  }

  private def damaged(how: String) = new InternalError(s"A client sent no function of Snapline: $how.")

  /** The rest of the header may be another in another version. */
  private def checkVersion(header: JValue): Unit = {
    val version = (header \ "version").extractOrElse("unknown")
    if (version != SparkLineCheck.version) {
      throw new WrongSparkVersion(
        s"The client has Snapline $version, and the server's jar is of ${SparkLineCheck.version}.",
        "let both be of one version: pip install on the client, or another jar on the server."
      )
    }
  }
}
