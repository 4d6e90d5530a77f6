package io.snapline.spark.operator.state

import org.apache.spark.sql.execution.streaming.state.{OperatorStateMetadata, OperatorStateMetadataV2}
import org.json4s.JsonAST.{JObject, JString}
import org.json4s.jackson.JsonMethods

import io.snapline.error.IncompatibleState

/** The name of an operator in what Spark writes down of it: a member `uid` of its properties, which Spark itself passes
  * over.
  */
object OperatorUid {
  private val Member = "uid"

  def in(metadata: OperatorStateMetadata, uid: Option[String]): OperatorStateMetadata = (metadata, uid) match {
    case (v2: OperatorStateMetadataV2, Some(name)) => v2.copy(operatorPropertiesJson =
        JsonMethods.compact(
          properties(v2).merge(JObject(Member -> JString(name)))
        )
      )
    case _ => metadata
  }

  def of(metadata: OperatorStateMetadata): Option[String] = metadata match {
    case v2: OperatorStateMetadataV2 if v2.operatorPropertiesJson.nonEmpty =>
      properties(v2) \ Member match {
        case JString(name) => Some(name)
        case _ => None
      }
    case _ => None
  }

  /** Spark finds the state of an operator by its place in the plan: one that has another name there is another
    * operator. A name may be given later.
    */
  def check(before: OperatorStateMetadata, now: OperatorStateMetadata): Unit =
    for (old <- of(before); uid <- of(now) if uid != old) throw new IncompatibleState(
      s"Operator ${now.operatorInfo.operatorId} of the plan has the uid '$uid', and its state in the checkpoint is that of '$old'.",
      "set back the order of the operators or the uid; or take a savepoint with the plan as it was, and start the new one with " +
        "snapline.start(from_savepoint=), which finds each operator's state by its uid."
    )

  private def properties(metadata: OperatorStateMetadataV2): JObject =
    JsonMethods.parse(metadata.operatorPropertiesJson) match {
      case json: JObject => json
      case _ => JObject()
    }
}
