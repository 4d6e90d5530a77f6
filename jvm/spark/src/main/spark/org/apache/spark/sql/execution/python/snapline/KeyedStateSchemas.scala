package org.apache.spark.sql.execution.python.snapline

import java.util.UUID

import scala.util.control.NonFatal

import io.snapline.error.IncompatibleState
import io.snapline.spark.operator.state.{KeyedFamily, SchemaChange, SchemaHistory, StateSpec}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorStateInfo
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.{
  StateVariableType, TransformWithStateVariableInfo
}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.execution.streaming.state.SchemaHelper.SchemaWriter

/** The schema files of a keyed operator: Spark's files, and rules of our own for what may change between two runs. */
private[snapline] object KeyedStateSchemas {

  /** Checks the families against those of the run before, and writes a new schema file if something is new. Nothing is
    * written if something does not fit.
    */
  def evolve(
      info: StatefulOperatorStateInfo,
      hadoopConf: Configuration,
      batchId: Long,
      version: Int,
      folder: Path,
      families: Seq[KeyedFamily]
  ): StateSchemaValidationResult = {
    val before = paths(info, hadoopConf, batchId)
    val path = new Path(folder, s"${batchId}_${UUID.randomUUID()}")
    val store = StateStoreProviderId(StateStoreId(info.checkpointLocation, info.operatorId, 0), info.queryRunId)
    val files = new StateSchemaCompatibilityChecker(store, hadoopConf, before, Some(path))
    val old =
      if (before.isEmpty) Map.empty[String, StateStoreColFamilySchema]
      else files.readSchemaFiles().map { case (name, all) => name -> all.maxBy(_.valueSchemaId) }
    val schemas = families.map(family => old.get(family.name).fold(family.schema)(next(_, family.schema)))
    val newest = if (before.isEmpty) Set.empty[String] else files.readSchemaFile().map(_.colFamilyName).toSet
    val same = before.nonEmpty && schemas.forall(s => old.get(s.colFamilyName).contains(s)) &&
      newest == schemas.map(_.colFamilyName).toSet
    if (!same) files.createSchemaFile(schemas.toList.sortBy(_.colFamilyName), SchemaWriter.createSchemaWriter(version))
    StateSchemaValidationResult(!same, if (same) before.last.toString else path.toString)
  }

  /** The partitions of an operator without keys are its own: nothing of Spark's compares them with what the checkpoint
    * has.
    */
  def checkParallelism(
      info: StatefulOperatorStateInfo,
      hadoopConf: Configuration,
      batchId: Long,
      function: KeyedFunction
  ): Unit = if (!function.spec.keyed) {
    val recorded = metadata(info, hadoopConf, batchId).flatMap(_.stateStoreInfo.headOption.map(_.numPartitions))
    recorded.filter(_ != info.numPartitions).foreach { before =>
      throw new IncompatibleState(
        s"The checkpoint has $before partitions of operator state of ${function.spec.function}, and the query gives it ${info.numPartitions}.",
        s"set parallelism=$before, or begin a new checkpoint from a savepoint with `snapline restore --parallelism ${info.numPartitions}`."
      )
    }
  }

  /** With the paths of schema files, which Spark writes down whole, in the folder where the checkpoint is now. */
  def here(metadata: OperatorStateMetadata, info: StatefulOperatorStateInfo): OperatorStateMetadata = metadata match {
    case v2: OperatorStateMetadataV2 => v2.copy(stateStoreInfo = v2.stateStoreInfo.map { store =>
        val below = s"/state/${info.operatorId}/"
        store.copy(stateSchemaFilePaths = store.stateSchemaFilePaths.map { path =>
          val name = path.substring(path.lastIndexOf(below) + below.length)
          new Path(new Path(info.checkpointLocation, info.operatorId.toString), name).toString
        })
      })
    case other => other
  }

  private def paths(info: StatefulOperatorStateInfo, hadoopConf: Configuration, batchId: Long): List[Path] =
    metadata(
      info,
      hadoopConf,
      batchId
    ).fold(List.empty[Path])(_.stateStoreInfo.head.stateSchemaFilePaths.map(new Path(_)))

  private def metadata(
      info: StatefulOperatorStateInfo,
      hadoopConf: Configuration,
      batchId: Long
  ): Option[OperatorStateMetadataV2] = {
    val operator = new Path(info.checkpointLocation, info.operatorId.toString)
    def read(batch: Long): Option[OperatorStateMetadata] =
      OperatorStateMetadataReader.createReader(operator, hadoopConf, 2, batch).read()
    val found =
      try read(batchId)
      catch {
        // The first run of a query has none.
        case NonFatal(_) if batchId == 0 => None
        // In real-time mode the offsets of a batch, without which nothing is read, are written at its end.
        case NonFatal(_) => read(batchId - 1)
      }
    found.map(here(_, info)).collect { case v2: OperatorStateMetadataV2 => v2 }
  }

  private def next(old: StateStoreColFamilySchema, now: StateStoreColFamilySchema): StateStoreColFamilySchema = {
    val name = now.colFamilyName
    if (!SchemaChange.isNone(old.keySchema, now.keySchema)) {
      refuse(name, Seq(s"key: ${old.keySchema.sql} -> ${now.keySchema.sql}"))
    }
    if (SchemaChange.isNone(old.valueSchema, now.valueSchema)) old
    else {
      val problems = SchemaChange.problems(old.valueSchema, now.valueSchema, name)
      if (problems.nonEmpty) refuse(name, problems)
      now.copy(keySchemaId = old.keySchemaId, valueSchemaId = (old.valueSchemaId + 1).toShort)
    }
  }

  private def refuse(state: String, problems: Seq[String]): Nothing = throw new IncompatibleState(
    s"The state '$state' has changed since the checkpoint was written: ${problems.mkString("; ")}.",
    "fields may be added if they are nullable, removed, or widened without loss; set back the rest, give the state " +
      "another name, or start the query with a new checkpoint."
  )

  /** The states as the `statestore` reader is told of them. */
  def variables(states: Seq[StateSpec]): Map[String, TransformWithStateVariableInfo] =
    states.map { state =>
      val kind = state.kind match {
        case StateSpec.ListKind => StateVariableType.ListState
        case StateSpec.MapKind => StateVariableType.MapState
        case _ => StateVariableType.ValueState
      }
      state.name -> TransformWithStateVariableInfo(state.name, kind, state.ttl)
    }.toMap

  /** The states whose schema has ever changed, from what Spark read of the schema files. */
  def histories(info: StatefulOperatorStateInfo, families: Seq[KeyedFamily]): Seq[SchemaHistory] =
    info.stateSchemaMetadata.fold(Seq.empty[SchemaHistory]) { broadcast =>
      val values = broadcast.broadcast.value.activeSchemas.filterNot(_._1.isKey)
      families.flatMap { family =>
        val schemas = values.collect {
          case (key, value) if key.colFamilyName == family.name => key.schemaId.toInt -> value.sqlSchema
        }
        if (schemas.keys.exists(_ > 0)) Some(SchemaHistory(family.name, family.lists, schemas))
        else None
      }
    }
}
