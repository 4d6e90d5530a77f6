package io.snapline.spark.savepoint

import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.util.SerializableConfiguration
import org.json4s.DefaultFormats
import org.json4s.JsonAST.JValue

import io.snapline.checkpoint.StoreId

/** Everything a task needs to open the stores of one name of an operator; travels to the executors.
  *
  * @param checkpoint
  *   the folder of the query
  * @param schemas
  *   evolved schemas for Avro encoding
  */
private[savepoint] final class StoreTask(
    checkpoint: String,
    val operator: OperatorLayout,
    val store: StoreLayout,
    conf: StateStoreConf,
    configuration: SerializableConfiguration,
    schemas: Option[StateSchemaProvider]
) extends Serializable {

  /** A provider that nobody else uses: whoever calls closes it. */
  def provider(partition: Int): StateStoreProvider = {
    val id = StateStoreId(new Path(checkpoint, "state").toString, operator.id, partition, store.name)
    // A provider takes a first state; where there are others, that one is never used.
    val first = store.family(StateStore.DEFAULT_COL_FAMILY_NAME).getOrElse(store.families.head)
    StateStoreProvider.createAndInit(
      StateStoreProviderId(id, UUID.randomUUID()),
      first.key,
      first.value,
      first.spec,
      store.hasFamilies,
      conf,
      configuration.value,
      useMultipleValuesPerKey = false,
      schemas
    )
  }

  def declare(family: FamilyLayout, in: StateStore): Unit =
    if (family.name != StateStore.DEFAULT_COL_FAMILY_NAME) {
      in.createColFamilyIfAbsent(family.name, family.key, family.value, family.spec, family.multi, family.internal)
    }
}

/** A version of a store, and the attempt, where several may have made it.
  *
  * @param uid
  *   the attempt; None: the latest
  */
private[savepoint] final case class StoreVersion(id: StoreId, version: Long, uid: Option[String])

private[savepoint] object StoreVersion {

  /** @param json
    *   an array, as Python has it
    */
  def read(json: JValue): Seq[StoreVersion] = {
    implicit val formats: DefaultFormats.type = DefaultFormats
    json.children.map { item =>
      val id =
        StoreId((item \ "operator").extract[Long], (item \ "partition").extract[Int], (item \ "store").extract[String])
      StoreVersion(id, (item \ "version").extract[Long], (item \ "uid").extract[Option[String]])
    }
  }
}

/** Where Avro encoding looks up evolved schemas: what an operator's schema files say. */
private[savepoint] object StoreSchemas {

  /** @param root
    *   what the files' names are relative to
    */
  def of(
      root: String,
      operator: OperatorLayout,
      store: StoreLayout,
      configuration: Configuration
  ): Option[StateSchemaProvider] =
    if (operator.schemaFiles.isEmpty || !store.hasFamilies) None
    else {
      val files = operator.schemaFiles.map(new Path(root, _).toString).toList
      Some(new InMemoryStateSchemaProvider(StateSchemaMetadata.createStateSchemaMetadata(root, configuration, files)))
    }
}
