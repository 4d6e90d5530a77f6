package org.apache.spark.sql.connect.snapline

import java.util.Optional

import scala.jdk.CollectionConverters._

import org.apache.spark.connect.proto
import org.apache.spark.sql
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.connect.planner.SparkConnectPlanner
import org.apache.spark.sql.connect.plugin.RelationPlugin
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String
import org.sparkproject.connect.protobuf.{Any => ProtoAny, CodedInputStream}

/** Answers the messages of Snapline's clients of Spark Connect. A server that is to have them names this class in
  * `spark.connect.extensions.relation.classes`. Spark makes one for all its clients.
  */
final class SnaplineRelations extends RelationPlugin {
  override def transform(bytes: Array[Byte], planner: SparkConnectPlanner): Optional[LogicalPlan] = {
    val message = ProtoAny.parseFrom(bytes)
    def value = message.getValue.toByteArray
    message.getTypeUrl match {
      case FunctionMessage.TypeUrl => Optional.of(new FunctionPlanner(planner).plan(FunctionMessage.parse(value)))
      case SnaplineRelations.Call => Optional.of(SnaplineRelations.call(new MessageParts(value), planner))
      case SnaplineRelations.Frame => Optional.of(SnaplineRelations.frame(new MessageParts(value), planner))
      case _ => Optional.empty()
    }
  }
}

private[snapline] object SnaplineRelations {

  /** A call of the package that needs Python beside the server. */
  val Call = "type.googleapis.com/snapline.Call"

  /** A DataFrame that such a call has made. */
  val Frame = "type.googleapis.com/snapline.Frame"

  /** Spark's own for messages that come in. */
  private val MaxDepth = 1024

  /** One row: what the call gave, in JSON. */
  private def call(message: MessageParts, planner: SparkConnectPlanner): LogicalPlan = {
    def asked = {
      val frames = message.parts("inputs").map(rows(_, planner)).asJava
      val Seq(pickled) = message.parts("call"): @unchecked
      new CompanionRequest(message.text("python"), frames, pickled)
    }
    val answer = Companions.of(planner.sessionHolder).call(message.text("id"), asked)
    LocalRelation(Seq(AttributeReference("answer", StringType)()), Seq(InternalRow(UTF8String.fromString(answer))))
  }

  private def frame(message: MessageParts, planner: SparkConnectPlanner): LogicalPlan =
    Companions.of(planner.sessionHolder).frame(message.text("frame")).queryExecution.analyzed

  /** The DataFrame of a relation within a message. Plans of long programs are deep. */
  def rows(relation: Array[Byte], planner: SparkConnectPlanner): sql.DataFrame = {
    val stream = CodedInputStream.newInstance(relation)
    stream.setRecursionLimit(MaxDepth): Unit
    Dataset.ofRows(planner.session, planner.transformRelation(proto.Relation.parseFrom(stream)))
  }
}
