package io.snapline.spark.operator.state

import org.apache.spark.sql.execution.streaming.state.NoPrefixKeyStateEncoderSpec
import org.apache.spark.sql.types._
import org.json4s.JsonAST.{JNull, JString, JValue}

import io.snapline.error.InvalidConfiguration

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
