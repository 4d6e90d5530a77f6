package io.snapline.spark.operator.state

import org.apache.spark.sql.types._
import org.json4s.JsonAST.{JBool, JNull, JString, JValue}

import io.snapline.error.InvalidConfiguration

/** One state of a keyed function, as the Python package declares it.
  *
  * @param entry
  *   a map state's entries are looked up by this column of the rows, instead of the map being read whole
  */
final case class StateSpec(
    name: String,
    kind: String,
    userKey: Option[DataType],
    valueType: DataType,
    ttl: Boolean,
    eventTimeTtl: Boolean,
    prefetch: Boolean,
    entry: Option[String]
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
      json \ "prefetch" != JBool(false),
      text("entry")
    )
  }

  /** A type as Spark writes it in JSON, or that JSON as a string. */
  def dataType(json: JValue): DataType = json match {
    case JString(text) if text.startsWith("{") || text.startsWith("\"") => DataType.fromJson(text)
    case other => DataType.fromJson(org.json4s.jackson.JsonMethods.compact(other))
  }
}
