package io.snapline.spark.savepoint

import java.util

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.{Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.execution.streaming.snapline.SessionInternals
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.snapline.error.{InvalidConfiguration, StateNotFound}

/** `spark.read.format("snapline")`: a state of a checkpoint or savepoint as a table. Made anew for each read. */
class StateSource extends TableProvider with DataSourceRegister {

  /** One look for the schema and for the table: a query that runs has another state a moment later. */
  private var found: Option[Table] = None

  override def shortName(): String = StateSource.Name

  override def inferSchema(options: CaseInsensitiveStringMap): StructType = {
    val table = StateSource.table(SparkSession.active, options)
    found = Some(table)
    StateSource.schemaOf(table)
  }

  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]
  ): Table = found.getOrElse(StateSource.table(SparkSession.active, new CaseInsensitiveStringMap(properties)))
}

object StateSource {
  val Name = "snapline"
  private val PathOption = "path"
  private val OperatorOption = "operator"
  private val StateOption = "state"
  private val CheckpointOption = "checkpoint"
  private val Known = Seq(PathOption, OperatorOption, StateOption, CheckpointOption)

  def table(session: SparkSession, options: CaseInsensitiveStringMap): Table = {
    val unknown = options.keySet.asScala.toSeq.diff(Known).sorted
    if (unknown.nonEmpty) throw new InvalidConfiguration(
      s"The format $Name has no option ${unknown.mkString(", ")}.",
      s"it has ${Known.mkString(", ")}."
    )
    def option(name: String): Option[String] = Option(options.get(name)).filter(_.nonEmpty)
    val path = option(PathOption).getOrElse(
      throw new InvalidConfiguration(s"The format $Name has no path.", "give a checkpointLocation or a savepoint.")
    )
    val number = option(CheckpointOption).map { text =>
      text.toLongOption.filter(_ > 0).getOrElse(
        throw new InvalidConfiguration(s"The checkpoint is $text.", "give the number of one.")
      )
    }
    val configuration = SessionInternals.hadoopConfiguration(session)
    val folder = {
      val named = new Path(path)
      named.getFileSystem(configuration).makeQualified(named)
    }
    val savepoint = new SavepointStates(folder, configuration)
    if (savepoint.isOne && number.isDefined) {
      throw new InvalidConfiguration("A savepoint has no numbered checkpoints.", "leave out checkpoint.")
    }
    val stores =
      if (savepoint.isOne) savepoint.stores else Some(new StateFinder(session, path).find(number, readBack = false))
    val operators = stores.fold(savepoint.operators)(_.operators)
    val operator = operatorOf(operators, option(OperatorOption), folder)
    val (store, family) = stateOf(operator, option(StateOption))
    stores match {
      case None => Savepoints.files(session, folder.toString, operator, store, family)
      case Some(state) =>
        val uids = state.uidsOf(operator.id, store.name)
        Savepoints.state(session, state.location, state.version, state.settings, operator, store, family, uids)
    }
  }

  def schemaOf(table: Table): StructType = table match {
    case files: StateParquet => files.schema
    case state: StateTable => state.schema
    case other => throw new IllegalArgumentException(s"$other is no table of a state.")
  }

  private def operatorOf(operators: Seq[OperatorLayout], wanted: Option[String], where: Path): OperatorLayout =
    operators.filter(operator => wanted.forall(operator.isCalled)) match {
      case Seq(operator) => operator
      case _ =>
        val there = if (operators.isEmpty) "no stateful operator" else operators.map(_.title).mkString(", ")
        throw new StateNotFound(s"$where has $there.", "give the number or the uid of one of them (operator).")
    }

  private def stateOf(operator: OperatorLayout, wanted: Option[String]): (StoreLayout, FamilyLayout) = {
    val all = for (store <- operator.stores; family <- store.families) yield (store, family)
    val found = wanted match {
      case Some(name) => all.filter { case (store, family) => store.nameOf(family) == name }
      case None if all.size > 1 => all.filterNot(_._2.internal)
      case None => all
    }
    found match {
      case Seq(one) => one
      case _ =>
        val there = all.map { case (store, family) => store.nameOf(family) }
        val asked = wanted.fold("No state was named")(name => s"There is no state $name")
        throw new StateNotFound(
          s"$asked; ${operator.title} has ${if (there.isEmpty) "no state" else there.mkString(", ")}.",
          "name one of them (state)."
        )
    }
  }
}
