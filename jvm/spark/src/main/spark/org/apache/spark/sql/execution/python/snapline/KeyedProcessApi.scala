package org.apache.spark.sql.execution.python.snapline

import scala.jdk.CollectionConverters._

import io.snapline.error.InvalidConfiguration
import io.snapline.spark.operator.state.KeyedSpec

import org.apache.spark.api.python.PythonFunction
import org.apache.spark.sql
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute}
import org.apache.spark.sql.catalyst.plans.logical.{
  EventTimeWatermark, LogicalPlan, Project, UpdateEventTimeWatermarkColumn
}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils
import org.apache.spark.sql.classic.{DataFrame, Dataset, SparkSession}
import org.apache.spark.sql.types.{DataType, StructType}

/** The functions that the Python package calls. */
object KeyedProcessApi {

  /** Whether the session has the extension: without its strategy Spark calls a keyed function an error of its own. */
  def isPlannedBy(session: sql.SparkSession): Boolean =
    session.asInstanceOf[SparkSession].sessionState.planner.strategies.contains(KeyedProcessStrategy)

  /** @param keyNames
    *   none for a function without keys
    */
  def plan(
      df: sql.DataFrame,
      keyNames: java.util.List[String],
      orderNames: java.util.List[String],
      function: PythonFunction,
      outputSchema: String,
      specJson: String
  ): sql.DataFrame = {
    val input = new Input(df)
    val spec = KeyedSpec.parse(specJson)
    val process = KeyedProcess(
      new KeyedFunction(function, spec),
      keys(input, keyNames, spec),
      input.attributes(orderNames),
      output(outputSchema),
      input.analyzed
    )
    result(Seq(input), process, spec)
  }

  /** The same with a broadcast stream. */
  def connect(
      df: sql.DataFrame,
      keyNames: java.util.List[String],
      orderNames: java.util.List[String],
      broadcast: sql.DataFrame,
      broadcastOrder: java.util.List[String],
      function: PythonFunction,
      outputSchema: String,
      specJson: String
  ): sql.DataFrame = {
    val input = new Input(df)
    val spec = KeyedSpec.parse(specJson)
    val rules = new Input(broadcast).apartFrom(input)
    val process = KeyedConnect(
      new KeyedFunction(function, spec),
      keys(input, keyNames, spec),
      input.attributes(orderNames),
      rules.attributes(broadcastOrder),
      output(outputSchema),
      input.analyzed,
      rules.analyzed
    )
    result(Seq(input, rules), process, spec)
  }

  /** The rows of an initial state, for [[begin]].
    *
    * @param function
    *   for them, with the same states as the one for the rows after them
    */
  def initial(
      df: sql.DataFrame,
      keyNames: java.util.List[String],
      function: PythonFunction,
      specJson: String
  ): InitialState = new InitialState(df, keyNames, new KeyedFunction(function, KeyedSpec.parse(specJson)))

  /** As [[plan]], with an initial state. */
  def begin(
      df: sql.DataFrame,
      keyNames: java.util.List[String],
      orderNames: java.util.List[String],
      initial: InitialState,
      function: PythonFunction,
      outputSchema: String,
      specJson: String
  ): sql.DataFrame = {
    val input = new Input(df)
    val spec = KeyedSpec.parse(specJson)
    val begins = new Input(initial.df).apartFrom(input)
    val process = KeyedInitial(
      new KeyedFunction(function, spec, Some(initial.function)),
      keys(input, keyNames, spec),
      input.attributes(orderNames),
      keys(begins, initial.keyNames, initial.function.spec),
      output(outputSchema),
      input.analyzed,
      begins.analyzed
    )
    result(Seq(input), process, spec)
  }

  /** A bounded table, and the function that makes state of its rows. */
  final class InitialState private[KeyedProcessApi] (
      private[KeyedProcessApi] val df: sql.DataFrame,
      private[KeyedProcessApi] val keyNames: java.util.List[String],
      private[KeyedProcessApi] val function: KeyedFunction
  )

  private def keys(input: Input, names: java.util.List[String], spec: KeyedSpec): Seq[Attribute] = {
    val keys = input.attributes(names)
    keys.filterNot(key => UnsafeRowUtils.isBinaryStable(key.dataType)).foreach { key =>
      throw new InvalidConfiguration(
        s"The key '${key.name}' is of type ${key.dataType.sql}, whose equal values differ in bytes.",
        "key by a column of another collation."
      )
    }
    spec.states.flatMap(_.entry).foreach(input.attribute)
    keys
  }

  private def output(schema: String): Seq[Attribute] =
    DataTypeUtils.toAttributes(DataType.fromJson(schema).asInstanceOf[StructType])

  private def result(inputs: Seq[Input], process: LogicalPlan, spec: KeyedSpec): sql.DataFrame = {
    checkWatermark(inputs, spec)
    // As transformWithState hands a watermark on; the rows put out are checked against it.
    val plan = spec.outputEventTime.fold[LogicalPlan](process) { column =>
      UpdateEventTimeWatermarkColumn(UnresolvedAttribute.quoted(column), None, process)
    }
    Dataset.ofRows(inputs.head.frame.sparkSession, plan)
  }

  /** A column may be the time of a row in a stream that has no watermark: event time then never moves. */
  private def checkWatermark(inputs: Seq[Input], spec: KeyedSpec): Unit =
    if (inputs.exists(_.frame.isStreaming) && !inputs.exists(_.hasWatermark)) {
      val lateOutput = spec.lateOutput.map(name => s"The output $name for late rows, and no row would ever be late")
      val state =
        spec.states.find(_.eventTimeTtl).map(s => s"State ${s.name} lives in event time, and would never expire")
      lateOutput.orElse(state).foreach { found =>
        throw new InvalidConfiguration(
          s"$found: the stream has no watermark.",
          "give the DataFrame a watermark before key_by: withWatermark(\"time\", \"1 minute\")."
        )
      }
    }

  /** A DataFrame, and its columns by name. */
  private final class Input(val frame: DataFrame, val analyzed: LogicalPlan) {
    def this(df: sql.DataFrame) =
      this(df.asInstanceOf[DataFrame], df.asInstanceOf[DataFrame].queryExecution.analyzed)

    def hasWatermark: Boolean = analyzed.exists {
      case _: EventTimeWatermark | _: UpdateEventTimeWatermarkColumn => true
      case _ => false
    }

    def attributes(names: java.util.List[String]): Seq[Attribute] = names.asScala.toSeq.map(attribute)

    def attribute(name: String): Attribute = {
      val resolver = frame.sparkSession.sessionState.conf.resolver
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

    /** Columns of its own, if both are of one DataFrame. */
    def apartFrom(other: Input): Input =
      if (analyzed.outputSet.intersect(other.analyzed.outputSet).isEmpty) this
      else new Input(frame, Project(analyzed.output.map(column => Alias(column, column.name)()), analyzed))
  }
}
