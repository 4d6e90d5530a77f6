package io.snapline.spark.provider

import java.util.UUID

import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.execution.streaming.state.snapline.{RowChecksums, StateEncoders}
import org.apache.spark.sql.types.StructType

import io.snapline.error.IncompatibleState
import io.snapline.state.KeyedBackend

/** The states an operator has declared on a store, by name. Owned by the provider; one thread.
  *
  * @param schemas
  *   where Avro encoding looks up evolved schemas
  */
private[spark] final class StateFamilies(
    id: StateStoreId,
    runId: UUID,
    conf: StateStoreConf,
    maxParallelism: Int,
    schemas: Option[StateSchemaProvider]
) {
  @volatile private var families = Map.empty[String, StateFamily]

  /** Whether the default state is declared with another layout than it has in storage, where it is empty. */
  private var defaultUnfit = false

  def declared(name: String): Option[StateFamily] = families.get(name)

  /** The state of that name in the version that is loaded. */
  def get(name: String): Option[StateFamily] = {
    val family = families.get(name).filter(_.rows != null)
    if (defaultUnfit && name == StateStore.DEFAULT_COL_FAMILY_NAME) family.foreach(f => throw incompatible(f))
    family
  }

  /** Declares a state; the first declaration of a name stands. */
  def declare(
      name: String,
      keySchema: StructType,
      valueSchema: StructType,
      spec: KeyStateEncoderSpec,
      multi: Boolean,
      internal: Boolean
  ): StateFamily = families.getOrElse(
    name, {
      schemas match {
        // Spark's unit tests make up schemas as they go; in a query they come from the checkpoint.
        case Some(test: TestStateSchemaProvider) => test.captureSchema(name, keySchema, valueSchema)
        case _ => ()
      }
      val data = RocksDBStateStoreProvider.getDataEncoder(
        conf.stateStoreEncodingFormat,
        StateRowEncoderCacheKey(runId.toString, id.operatorId, id.partitionId, id.storeName, name),
        spec,
        valueSchema,
        schemas,
        Some(name)
      )
      val family = new StateFamily(
        name,
        internal,
        spec,
        valueSchema,
        RowEncoding(
          RocksDBStateEncoder.getKeyEncoder(data, spec, useColumnFamilies = true),
          StateEncoders.values(data, valueSchema, multi),
          plain = conf.stateStoreEncodingFormat == StateStoreEncoding.UnsafeRow.toString
        ),
        KeyGroupOf.create(id.storeName, name, spec, maxParallelism),
        RowChecksums.of(id, conf)
      )
      families += name -> family
      family
    }
  )

  /** Points every declared state at the column family of the backend that was just loaded. Those the version lacks wait
    * to be declared again.
    */
  def bind(backend: KeyedBackend): Unit = families.values.foreach { family =>
    if (family.name == StateStore.DEFAULT_COL_FAMILY_NAME || backend.family(family.name) != null) bind(family, backend)
    else family.rows = null
  }

  def bind(family: StateFamily, backend: KeyedBackend): Unit = {
    family.rows = backend.createFamily(family.name, family.hasKeyGroups, family.multi, family.internal)
    val stored = family.rows.descriptor
    val fits = stored.keyGroups == family.hasKeyGroups && stored.multi == family.multi
    val isDefault = family.name == StateStore.DEFAULT_COL_FAMILY_NAME
    // A reader of one state of an operator with several declares the default state with the layout of that one, and
    // does not use it.
    if (!fits && (!isDefault || family.rows.keyCount > 0)) throw incompatible(family)
    if (isDefault) defaultUnfit = !fits
    if (fits && family.prefixLength != null) family.rows.hasPrefixes(family.prefixLength)
  }

  private def incompatible(family: StateFamily): IncompatibleState = {
    val stored = family.rows.descriptor
    new IncompatibleState(
      s"State ${family.name} of $id holds ${if (stored.multi) "lists" else "single values"} " +
        s"${if (stored.keyGroups) "with" else "without"} key groups; the query wants the contrary.",
      "give the state another name, or start the query with a new checkpoint."
    )
  }

  def remove(name: String): Unit = families -= name
}
