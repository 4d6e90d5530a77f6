package io.snapline.spark.savepoint

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorsUtils.{
  SYMMETRIC_HASH_JOIN_EXEC_OP_NAME, TRANSFORM_WITH_STATE_OP_NAMES
}
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.{
  StateVariableType, TransformWithStateOperatorProperties, TransformWithStateVariableInfo
}
import org.apache.spark.sql.execution.streaming.state.snapline.{OperatorFiles, StateSchemas}
import org.apache.spark.sql.internal.SQLConf

import io.snapline.error.IncompatibleState
import io.snapline.spark.operator.state.{OperatorMark, OperatorUid, StateMigration}
import org.apache.spark.sql.execution.streaming.state._

/** Finds out, from the files Spark keeps beside the state, which states a checkpoint has. States that earlier versions
  * of a function had are among them; [[LeftOutStates]] finds out which of these the stores still hold.
  */
private[savepoint] final class CheckpointStates(
    checkpoint: Path,
    batch: Long,
    configuration: Configuration,
    settings: SQLConf
) {
  private val stateFolder = new Path(checkpoint, "state")

  /** The parallelism recorded for the batch: folders of partitions prove nothing. */
  private val parallelism = settings.getConf(SQLConf.STATEFUL_SHUFFLE_PARTITIONS_INTERNAL).get
  private val joinFormat = settings.getConf(SQLConf.STREAMING_JOIN_STATE_FORMAT_VERSION)

  def operators: Seq[OperatorLayout] = OperatorFiles.read(checkpoint, configuration, batch).map(layout)

  private def layout(metadata: OperatorStateMetadata): OperatorLayout = {
    val id = metadata.operatorInfo.operatorId
    val name = metadata.operatorInfo.operatorName
    if (name == SYMMETRIC_HASH_JOIN_EXEC_OP_NAME && joinFormat > CheckpointStates.JoinFormats) {
      throw new IncompatibleState(
        s"Operator $id ($name) in $checkpoint keeps its state in format $joinFormat, which Spark counts as experimental.",
        s"take savepoints of joins in the formats up to ${CheckpointStates.JoinFormats} (spark.sql.streaming.join.stateFormatVersion)."
      )
    }
    val variables = metadata match {
      case v2: OperatorStateMetadataV2 if TRANSFORM_WITH_STATE_OP_NAMES.contains(name) =>
        TransformWithStateOperatorProperties.fromJson(v2.operatorPropertiesJson).stateVariables
      case _ => Nil
    }
    val storesOf = OperatorFiles.stores(metadata)
    val stores = storesOf.map(storeLayout(_, id, name, variables))
    val isSingle = stores.forall(_.families.forall(_.placement == Placement.First))
    val files = storesOf.flatMap(schemaFiles(_, id)).distinct
    // A function without a key may have a number of its own; Spark's operators record one that they do not always use.
    val own = storesOf.headOption.filter(_ =>
      stores.exists(_.families.exists(_.name == OperatorMark.Family))
    )
    val partitions = if (isSingle) 1 else own.fold(parallelism)(_.numPartitions)
    OperatorLayout(id, name, OperatorUid.of(metadata), partitions, files, stores)
  }

  private def storeLayout(
      store: StateStoreMetadata,
      id: Long,
      name: String,
      variables: Seq[TransformWithStateVariableInfo]
  ): StoreLayout = {
    val of = StateStoreId(stateFolder.toString, id, StateStore.PARTITION_ID_TO_CHECK_SCHEMA, store.storeName)
    val files = schemaFiles(store, id).map(file => Option(new Path(checkpoint, file)))
    // The newest is last. Spark deletes none of them, for it reads them all itself.
    val byFile = (if (files.isEmpty) Seq(None) else files).map(StateSchemas.read(of, _, configuration))
    val newest = byFile.last
    val declared = newest.map(_.colFamilyName).toSet
    // A file has the states of one version of a function, and each version before may have had others.
    val before =
      if (!TRANSFORM_WITH_STATE_OP_NAMES.contains(name)) Nil
      else byFile.init.reverse.flatten.distinctBy(_.colFamilyName).filterNot(schema => declared(schema.colFamilyName))
    // The metadata has the kinds of the newest version's states only; a map is known by the schema of its own keys.
    val kinds = variables.map(variable => variable.stateName -> variable.stateVariableType).toMap ++
      before.filter(_.userKeyEncoderSchema.nonEmpty).map(_.colFamilyName -> StateVariableType.MapState)
    val placements = new Placements(name, joinFormat, kinds)
    val schemas = newest ++ before
    // transformWithState declares the default state and never uses it.
    val used =
      if (variables.isEmpty) schemas else schemas.filterNot(_.colFamilyName == StateStore.DEFAULT_COL_FAMILY_NAME)
    val lists = variables.filter(_.stateVariableType == StateVariableType.ListState).map(_.stateName).toSet
    val families = used.map { schema =>
      FamilyLayout(
        schema.colFamilyName,
        schema.keySchema,
        schema.valueSchema,
        schema.keyStateEncoderSpec.getOrElse(encoder(store, schema)).json,
        lists(schema.colFamilyName),
        placements.of(store.storeName, schema.colFamilyName, schema.keySchema),
        leftOut = !declared(schema.colFamilyName)
      )
    }
    StoreLayout(store.storeName, families ++ schemaNumbers(families, byFile.flatten, placements, store.storeName))
  }

  /** A keyed function whose schemas have changed notes in each partition which ones its values have. It keeps the notes
    * on states that it leaves out or has deleted.
    */
  private def schemaNumbers(
      families: Seq[FamilyLayout],
      schemas: Seq[StateStoreColFamilySchema],
      placements: Placements,
      store: String
  ): Option[FamilyLayout] =
    if (families.isEmpty || schemas.forall(_.valueSchemaId == 0)) None
    else {
      val spec = NoPrefixKeyStateEncoderSpec(StateMigration.key)
      val placement = placements.of(store, StateMigration.Family, StateMigration.key)
      Some(FamilyLayout(
        StateMigration.Family,
        StateMigration.key,
        StateMigration.value,
        spec.json,
        multi = false,
        placement
      ))
    }

  /** Spark writes whole paths; the checkpoint may have been copied since. */
  private def schemaFiles(store: StateStoreMetadata, operator: Long): Seq[String] = store match {
    case v2: StateStoreMetadataV2 =>
      val below = s"state/$operator/"
      v2.stateSchemaFilePaths.map(path => path.substring(path.lastIndexOf("/" + below) + 1))
    case _ => Nil
  }

  private def encoder(store: StateStoreMetadata, schema: StateStoreColFamilySchema): KeyStateEncoderSpec =
    if (store.numColsPrefixKey == 0) NoPrefixKeyStateEncoderSpec(schema.keySchema)
    else PrefixKeyScanStateEncoderSpec(schema.keySchema, store.numColsPrefixKey)
}

private object CheckpointStates {
  private val JoinFormats = 3
}
