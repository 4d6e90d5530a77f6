package org.apache.spark.sql.execution.python.snapline

import scala.jdk.CollectionConverters._

import io.snapline.error.InvalidConfiguration
import io.snapline.spark.operator.KeyedSpec

import org.apache.spark.api.python.PythonFunction
import org.apache.spark.sql
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UpdateEventTimeWatermarkColumn}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils
import org.apache.spark.sql.classic.{DataFrame, Dataset}
import org.apache.spark.sql.types.{DataType, StructType}

/** What the Python package calls. */
object KeyedProcessApi {

  def plan(
      df: sql.DataFrame,
      keyNames: java.util.List[String],
      orderNames: java.util.List[String],
      function: PythonFunction,
      outputSchema: String,
      specJson: String
  ): sql.DataFrame = {
    val input = df.asInstanceOf[DataFrame]
    val analyzed = input.queryExecution.analyzed
    def attribute(name: String): Attribute = {
      val resolver = input.sparkSession.sessionState.conf.resolver
      analyzed.output.filter(a => resolver(a.name, name)) match {
        case Seq(found) => found
        case found =>
          throw new InvalidConfiguration(
            s"${if (found.isEmpty) "No column" else s"${found.size} columns"} named '$name' among " +
              analyzed.output.map(_.name).mkString("", ", ", "."),
            "name one column of the stream."
          )
      }
    }
    val spec = KeyedSpec.parse(specJson)
    val keys = keyNames.asScala.toSeq.map(attribute)
    keys.filterNot(key => UnsafeRowUtils.isBinaryStable(key.dataType)).foreach { key =>
      throw new InvalidConfiguration(
        s"The key '${key.name}' is of type ${key.dataType.sql}, whose equal values differ in bytes.",
        "key by a column of another collation."
      )
    }
    spec.states.flatMap(_.entry).foreach(attribute)
    val output = DataType.fromJson(outputSchema).asInstanceOf[StructType]
    val process = KeyedProcess(
      new KeyedFunction(function, spec),
      keys,
      orderNames.asScala.toSeq.map(attribute),
      DataTypeUtils.toAttributes(output),
      analyzed
    )
    // As transformWithState hands a watermark on; the rows put out are checked against it.
    val plan = spec.outputEventTime.fold[LogicalPlan](process) { column =>
      UpdateEventTimeWatermarkColumn(UnresolvedAttribute.quoted(column), None, process)
    }
    Dataset.ofRows(input.sparkSession, plan)
  }
}
