package org.apache.spark.sql.connect.snapline

import java.util.{ArrayList, HashMap}

import scala.jdk.CollectionConverters._

import org.apache.spark.api.python.{PythonFunction, SimplePythonFunction}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.DataFrame
import org.apache.spark.sql.connect.planner.SparkConnectPlanner
import org.apache.spark.sql.execution.python.snapline.KeyedProcessApi

import io.snapline.error.{InternalError, InvalidConfiguration}

/** Plans the functions of a client as those of a classic session are planned. */
private[snapline] final class FunctionPlanner(planner: SparkConnectPlanner) {
  def plan(message: FunctionMessage): LogicalPlan = {
    if (!KeyedProcessApi.isPlannedBy(planner.session)) {
      throw new InvalidConfiguration(
        "The server has Snapline's jar, and not its session extension.",
        "start the server with spark.sql.extensions=io.snapline.spark.SnaplineExtension."
      )
    }
    val inputs = message.inputs.map(SnaplineRelations.rows(_, planner))
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

  /** Environment, files and interpreter of the workers are the server's, as of Spark's own functions there. */
  private def function(pickled: Array[Byte], python: String): PythonFunction = SimplePythonFunction(
    command = pickled.toSeq,
    envVars = new HashMap[String, String](),
    pythonIncludes = planner.sessionHolder.artifactManager.getPythonIncludes.asJava,
    pythonExec = ServerPython.interpreter(planner.session.sparkContext.getConf),
    pythonVer = python,
    broadcastVars = new ArrayList(),
    accumulator = null
  )
}
