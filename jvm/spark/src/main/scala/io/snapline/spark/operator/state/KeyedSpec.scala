package io.snapline.spark.operator.state

import org.json4s.JsonAST.{JArray, JBool, JInt, JString, JValue}
import org.json4s.jackson.JsonMethods

/** A keyed function, as the Python package declares it.
  *
  * @param mode
  *   `element`, `batch` (all rows of a key at once) or `arrow` (rows of many keys at once)
  * @param lateOutput
  *   the side output that gets late rows; they are dropped without one
  * @param outputEventTime
  *   the column of the output that carries the watermark on
  * @param parallelism
  *   number of partitions, without keys; None: as many as the query's other state has
  * @param broadcast
  *   whether there is a broadcast stream
  * @param uid
  *   the name by which a restore finds the operator again, wherever it is in the plan
  */
final case class KeyedSpec(
    function: String,
    mode: String,
    states: Seq[StateSpec],
    metrics: Seq[String],
    sideOutputs: Seq[String],
    lateOutput: Option[String],
    outputEventTime: Option[String],
    keyed: Boolean = true,
    operatorStates: Seq[OperatorStateSpec] = Nil,
    parallelism: Option[Int] = None,
    broadcast: Boolean = false,
    uid: Option[String] = None
) {
  def arrow: Boolean = mode == KeyedSpec.Arrow
  def grouped: Boolean = mode == KeyedSpec.Batch

  override def toString: String = {
    val named = states.map(state => s"${state.name} ${state.kind}") ++
      operatorStates.map(state => s"${state.name} ${state.mode}")
    s"${uid.fold("")(_ + ": ")}$function(${named.mkString(", ")})"
  }
}

object KeyedSpec {
  val Element = "element"
  val Batch = "batch"
  val Arrow = "arrow"

  def parse(json: String): KeyedSpec = {
    val spec = JsonMethods.parse(json)
    KeyedSpec(
      text(spec \ "function").getOrElse("function"),
      text(spec \ "mode").getOrElse(Element),
      array(spec \ "states").map(StateSpec.read),
      array(spec \ "metrics").flatMap(text),
      array(spec \ "side_outputs").flatMap(text),
      text(spec \ "late_output"),
      text(spec \ "output_event_time"),
      spec \ "keyed" != JBool(false),
      array(spec \ "operator_states").map(OperatorStateSpec.read),
      spec \ "parallelism" match {
        case JInt(number) => Some(number.toInt)
        case _ => None
      },
      spec \ "broadcast" == JBool(true),
      text(spec \ "uid")
    )
  }

  private def text(json: JValue): Option[String] = json match {
    case JString(value) => Some(value)
    case _ => None
  }

  private def array(json: JValue): Seq[JValue] = json match {
    case JArray(values) => values
    case _ => Nil
  }
}
