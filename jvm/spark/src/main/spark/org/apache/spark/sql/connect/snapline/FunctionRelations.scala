package org.apache.spark.sql.connect.snapline

import java.util.{ArrayList, HashMap, Optional}

import scala.jdk.CollectionConverters._

import org.apache.spark.api.python.{PythonFunction, SimplePythonFunction}
import org.apache.spark.connect.proto
import org.apache.spark.sql
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.{DataFrame, Dataset}
import org.apache.spark.sql.connect.planner.SparkConnectPlanner
import org.apache.spark.sql.connect.plugin.RelationPlugin
import org.apache.spark.sql.execution.python.snapline.KeyedProcessApi
import org.sparkproject.connect.protobuf.{Any => ProtoAny, CodedInputStream}

import io.snapline.error.{InternalError, InvalidConfiguration}

/** Plans the functions of a client of Spark Connect. A server that is to have them names this class in
  * `spark.connect.extensions.relation.classes`. Spark makes one for all its clients.
  */
final class FunctionRelations extends RelationPlugin {
  override def transform(bytes: Array[Byte], planner: SparkConnectPlanner): Optional[LogicalPlan] = {
    val message = ProtoAny.parseFrom(bytes)
    if (message.getTypeUrl != FunctionMessage.TypeUrl) Optional.empty()
    else Optional.of(new FunctionPlanner(planner).plan(FunctionMessage.parse(message.getValue.toByteArray)))
  }
}

private final class FunctionPlanner(planner: SparkConnectPlanner) {
  def plan(message: FunctionMessage): LogicalPlan = {
    if (!KeyedProcessApi.isPlannedBy(planner.session)) {
      throw new InvalidConfiguration(
        "The server has Snapline's jar, and not its session extension.",
        "start the server with spark.sql.extensions=io.snapline.spark.SnaplineExtension."
      )
    }
    val inputs = message.inputs.map(frame)
    val functions = message.functions.map(function(_, message.python))
    val (rows, keys, order) = (inputs.head, message.keys.asJava, message.order.asJava)
    val result = message.call match {
      case "plan" => KeyedProcessApi.plan(rows, keys, order, functions.head, message.output, message.spec)
      case "connect" =>
        KeyedProcessApi.connect(
          rows,
          keys,
          order,
          inputs(1),
          message.columns.asJava,
          functions.head,
          message.output,
          message.spec
        )
      case "begin" =>
        val begins = KeyedProcessApi.initial(inputs(1), message.columns.asJava, functions(1), message.initialSpec)
        KeyedProcessApi.begin(rows, keys, order, begins, functions.head, message.output, message.spec)
      case other => throw new InternalError(s"A client asked for $other, which is none of Snapline's plans.")
    }
    result.asInstanceOf[DataFrame].queryExecution.analyzed
  }

  /** Plans of long programs are deep. */
  private def frame(relation: Array[Byte]): sql.DataFrame = {
    val stream = CodedInputStream.newInstance(relation)
    stream.setRecursionLimit(FunctionPlanner.MaxDepth): Unit
    Dataset.ofRows(planner.session, planner.transformRelation(proto.Relation.parseFrom(stream)))
  }

  /** Environment, files and interpreter of the workers are the server's, as of Spark's own functions there. */
  private def function(pickled: Array[Byte], python: String): PythonFunction = SimplePythonFunction(
    command = pickled.toSeq,
    envVars = new HashMap[String, String](),
    pythonIncludes = planner.sessionHolder.artifactManager.getPythonIncludes.asJava,
    pythonExec = FunctionPlanner.interpreter(planner.session.sparkContext.getConf.getOption("spark.pyspark.python")),
    pythonVer = python,
    broadcastVars = new ArrayList(),
    accumulator = null
  )
}

private object FunctionPlanner {

  /** Spark's own for messages that come in. */
  val MaxDepth = 1024

  def interpreter(configured: Option[String]): String =
    sys.env.get("PYSPARK_PYTHON").orElse(configured).orElse(sys.env.get("PYSPARK_DRIVER_PYTHON")).getOrElse("python3")
}
