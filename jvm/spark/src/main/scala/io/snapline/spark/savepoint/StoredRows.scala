package io.snapline.spark.savepoint

import java.io.File
import java.util.UUID

import org.apache.spark.sql.execution.streaming.state.{StateSchemaProvider, StateStoreConf, StateStoreId}
import org.apache.spark.sql.execution.streaming.state.snapline.StateInternals
import org.apache.spark.util.SerializableConfiguration

import io.snapline.snapshot.format.Origin
import io.snapline.snapshot.store.StateRestore
import io.snapline.spark.provider.{LocalBackends, ProviderSettings, StateFamilies, StateFamily, StateProperties}
import io.snapline.spark.settings.SparkLineCheck
import io.snapline.state.{ColumnFamily, KeyedBackend, LocalFolder}

/** Opens versions of stores for their rows as they are kept, past Spark's providers; travels to the executors.
  *
  * @param from
  *   a checkpoint or a native savepoint
  */
private[savepoint] final class StoredRows(
    val from: String,
    val conf: StateStoreConf,
    val configuration: SerializableConfiguration
) extends Serializable {
  @transient lazy val settings: ProviderSettings = ProviderSettings.read(conf, configuration.value)
  @transient lazy val folders = new StoreFolders(from, configuration.value)

  /** The origin of files that are written now. */
  def origin(kind: String): Origin = {
    val properties = new StateProperties(conf, settings.maxParallelism, kind)
    Origin(SparkLineCheck.version, UUID.randomUUID().toString, properties.written)
  }

  /** By which backend a store was written. Where nothing can be read, whoever loads it says what is wrong. */
  def kind(store: StoreVersion): String =
    folders.origin(store.id).flatMap(_.properties.get(StateProperties.Backend)).getOrElse(settings.backend.kind)

  /** @param families
    *   the families of the version; valid within the call
    */
  def reading[A](store: StoreVersion, local: File)(families: Seq[ColumnFamily] => A): A = {
    val (storage, written) = (folders.of(store.id), kind(store))
    val properties = new StateProperties(conf, settings.maxParallelism, written)
    val backends = new LocalBackends(written, new File(local, "sources"), settings)
    val backend: KeyedBackend =
      new StateRestore(
        storage,
        backends,
        properties.check(_, storage.location)
      ).restore(store.version, store.uid).backend
    try families(backend.families)
    finally backend.close()
  }

  /** How keys and values of the families are encoded. One thread. */
  def encodings(operator: OperatorLayout, store: StoreLayout, schemas: Option[StateSchemaProvider]): Encodings = {
    val id = StateStoreId(from, operator.id, 0, store.name)
    val families = new StateFamilies(id, UUID.randomUUID(), conf, settings.maxParallelism, schemas)
    new Encodings(family =>
      families.declare(family.name, family.key, family.value, family.spec, family.multi, family.internal)
    )
  }

  /** A folder on the executor's disk, for as long as `body` runs. */
  def inFolder[A](name: String)(body: File => A): A = {
    val folder = StateInternals.localFolder(name)
    try body(folder)
    finally LocalFolder.delete(folder)
  }
}

private[savepoint] final class Encodings(declare: FamilyLayout => StateFamily) {
  def of(family: FamilyLayout): StateFamily = declare(family)
}
