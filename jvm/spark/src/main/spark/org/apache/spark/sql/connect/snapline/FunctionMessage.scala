package org.apache.spark.sql.connect.snapline

import org.json4s.{DefaultFormats, Formats}

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

  def parse(value: Array[Byte]): FunctionMessage = {
    val message = new MessageParts(value)
    FunctionMessage(
      call = message.text("call"),
      keys = message.texts("keys"),
      order = message.texts("order"),
      columns = message.texts("columns"),
      output = message.text("output"),
      spec = message.text("spec"),
      initialSpec = (message.header \ "initial_spec").extractOrElse(""),
      python = message.text("python"),
      inputs = message.parts("inputs"),
      functions = message.parts("functions")
    )
  }
}
