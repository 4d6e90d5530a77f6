package io.snapline.spark.operator.state

import org.apache.spark.sql.execution.streaming.state.NoPrefixKeyStateEncoderSpec
import org.apache.spark.sql.types._
import org.json4s.jackson.JsonMethods
import org.json4s.JsonAST.{JArray, JBool, JInt, JNull, JString, JValue}

import io.snapline.error.InvalidConfiguration

/** A keyed function, as the Python package declares it.
  *
  * @param mode
  *   `element`, `batch` (all rows of a key at once) or `arrow` (rows of many keys at once)
  * @param lateOutput
  *   the side output that gets late rows; they are dropped without one
  * @param takesLateRows
  *   whether late rows reach the function like all others
  * @param outputEventTime
  *   the column of the output that carries the watermark on
  * @param parallelism
  *   number of partitions, without keys; None: as many as the query's other state has
  * @param broadcast
  *   whether there is a broadcast stream
  * @param uid
  *   the name by which a restore finds the operator again, wherever it is in the plan
  * @param deletedStates
  *   the names of states of an earlier version of the function, which are removed
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
    uid: Option[String] = None,
    takesLateRows: Boolean = false,
    deletedStates: Seq[String] = Nil
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
      text(spec \ "uid"),
      spec \ "takes_late_rows" == JBool(true),
      array(spec \ "deleted_states").flatMap(text)
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

/** One state of a keyed function, as the Python package declares it.
  *
  * @param prefetch
  *   whether it travels with the rows of a key
  * @param entry
  *   a map state's entries are looked up by this column of the rows, instead of the map being read whole
  * @param prefetchForTimers
  *   whether it travels with the timers of a key
  */
final case class StateSpec(
    name: String,
    kind: String,
    userKey: Option[DataType],
    valueType: DataType,
    ttl: Boolean,
    eventTimeTtl: Boolean,
    prefetch: Boolean,
    entry: Option[String],
    prefetchForTimers: Boolean = true
) {

  /** Spark keeps a value in a row of its fields, and what is not a struct in a field named value. */
  val valueStruct: StructType = StateSpec.wrapped(valueType)

  val storedValue: StructType =
    if (ttl) new StructType().add("value", valueStruct).add("ttlExpirationMs", LongType) else valueStruct

  /** The key in the store: the grouping key, and in a map behind it the entry's. */
  def storedKey(key: StructType): StructType = userKey match {
    case None => key
    case Some(user) => new StructType().add("key", key).add("userKey", StateSpec.wrapped(user))
  }
}

object StateSpec {
  val Value = "value"
  val ListKind = "list"
  val MapKind = "map"

  def wrapped(dataType: DataType): StructType = dataType match {
    case struct: StructType => struct
    case other => new StructType().add("value", other)
  }

  def read(json: JValue): StateSpec = {
    def text(name: String): Option[String] = json \ name match {
      case JString(value) => Some(value)
      case _ => None
    }
    val kind = text("kind").getOrElse("")
    if (!Seq(Value, ListKind, MapKind).contains(kind)) {
      throw new InvalidConfiguration(s"A state of kind '$kind'.", "use the jar and the Python package of one version.")
    }
    StateSpec(
      text("name").get,
      kind,
      json \ "key" match {
        case JNull => None
        case key => Some(dataType(key))
      },
      dataType(json \ "type"),
      json \ "ttl" == JBool(true),
      text("ttl_time").contains("event"),
      json \ "prefetch" != JBool(false) && json \ "prefetch" != JString("timers"),
      text("entry"),
      json \ "prefetch" != JBool(false)
    )
  }

  /** A type as Spark writes it in JSON, or that JSON as a string. */
  def dataType(json: JValue): DataType = json match {
    case JString(text) if text.startsWith("{") || text.startsWith("\"") => DataType.fromJson(text)
    case other => DataType.fromJson(org.json4s.jackson.JsonMethods.compact(other))
  }
}

/** One operator state of a function, as the Python package declares it.
  *
  * @param mode
  *   how it is spread when the parallelism changes
  * @param userKey
  *   the type of a broadcast state's keys
  */
final case class OperatorStateSpec(name: String, mode: String, userKey: Option[DataType], valueType: DataType) {

  /** The name says the mode: a savepoint has nothing else to go by. */
  val family: String = OperatorStateSpec.prefix(mode) + (if (mode == OperatorStateSpec.Raw) "" else name)

  def isBroadcast: Boolean = mode == OperatorStateSpec.Broadcast

  val keyType: DataType = userKey.getOrElse(LongType)

  val storedKey: StructType =
    if (isBroadcast) StateSpec.wrapped(keyType) else OperatorStateSpec.position

  val storedValue: StructType = StateSpec.wrapped(valueType)

  def columnFamily: KeyedFamily =
    KeyedFamily(family, storedKey, storedValue, NoPrefixKeyStateEncoderSpec(storedKey), lists = false, None)
}

object OperatorStateSpec {
  val Split = "split"
  val Union = "union"
  val Broadcast = "broadcast"
  val Raw = "raw"

  val SplitPrefix = "$operator_"
  val UnionPrefix = "$union_"
  val BroadcastPrefix = "$broadcast_"
  val RawFamily = "$raw"

  private val prefix =
    Map(Split -> SplitPrefix, Union -> UnionPrefix, Broadcast -> BroadcastPrefix, Raw -> RawFamily)

  val position: StructType = new StructType().add("position", LongType, nullable = false)

  def read(json: JValue): OperatorStateSpec = (json \ "name", json \ "mode") match {
    case (JString(name), JString(mode)) if prefix.contains(mode) =>
      val userKey = json \ "key" match {
        case JNull => None
        case key => Some(StateSpec.dataType(key))
      }
      OperatorStateSpec(name, mode, userKey, StateSpec.dataType(json \ "type"))
    case (name, mode) => throw new InvalidConfiguration(
        s"An operator state $name of mode $mode.",
        "use the jar and the Python package of one version."
      )
  }
}
