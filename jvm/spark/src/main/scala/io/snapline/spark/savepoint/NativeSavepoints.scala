package io.snapline.spark.savepoint

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.snapline.SessionInternals
import org.apache.spark.sql.execution.streaming.state.StateStoreConf
import org.apache.spark.util.SerializableConfiguration
import org.json4s.JsonAST._
import org.json4s.jackson.JsonMethods

import io.snapline.checkpoint.StoreId
import io.snapline.error.InvalidConfiguration
import io.snapline.snapshot.store.{CopiedFile, CopiedVersion}
import io.snapline.spark.provider.{BackendSettings, ProviderSettings, StateProperties}

/** State as the files that stores keep it in: what the Python package calls to take native savepoints, and to begin
  * checkpoint folders with the files or the rows of others. It knows nothing of a savepoint's own files.
  */
object NativeSavepoints {

  /** Copies what the versions of stores take.
    *
    * @param stores
    *   JSON, an array of `{"operator", "store", "partition", "version", "uid"}`; without `uid` the latest attempt. All
    *   have the session's number of key groups, or nothing is copied
    * @return
    *   JSON, the same with the uids that were copied, `backend`, `keys` by name of the family, and `files`, relative to
    *   the folder
    */
  def copy(session: SparkSession, from: String, to: String, stores: String): String = {
    refuseDriverMemory(session)
    val all = StoreVersion.read(JsonMethods.parse(stores)).map(store => store -> store.id)
    // The savepoint says how many key groups all of its stores have.
    for ((_, id) <- all.headOption; origin <- new StoreFolders(from, configuration(session).value).origin(id)) {
      StateProperties.checkKeyGroups(origin, Savepoints.maxParallelism(session), s"$from/${id.folder}")
    }
    val context = session.sparkContext
    val copies = new StoreCopies(from, to, configuration(session))
    val tasks = math.max(1, math.min(all.size, context.defaultParallelism))
    val copied = context.parallelize(all, tasks).mapPartitions { part =>
      val own = part.toSeq
      own.map(_._2).zip(copies.run(own)).iterator
    }.collect()
    JsonMethods.compact(JArray(copied.map { case (id, version) => described(id, version) }.toList))
  }

  private def described(id: StoreId, copied: CopiedVersion): JObject = JObject(
    named(id, copied.ref.uid).obj ++ List(
      "version" -> JLong(copied.ref.version),
      "backend" -> copied.origin.properties.get(StateProperties.Backend).fold[JValue](JNull)(JString(_)),
      "keys" -> JObject(copied.families.map(family => family.descriptor.name -> JLong(family.keys)).toList),
      "files" -> filesOf(id, copied.files)
    )
  )

  private def filesOf(id: StoreId, files: Seq[CopiedFile]) = JArray(files.map { file =>
    JObject(
      "name" -> JString(s"${id.folder}/${file.name}"),
      "length" -> JLong(file.length),
      "crc32c" -> JLong(file.crc32c & 0xffffffffL)
    )
  }.toList)

  private def named(id: StoreId, uid: String): JObject = JObject(
    "operator" -> JLong(id.operator),
    "store" -> JString(id.store),
    "partition" -> JInt(id.partition),
    "uid" -> JString(uid)
  )

  /** Writes the state of a checkpoint folder that is begun: with files, where they will do, or else of the rows. All
    * stores are one job's.
    *
    * @param from
    *   a checkpoint or a native savepoint
    * @param version
    *   version of the stores in the new folder
    * @param offsetMetadata
    *   the second line of the new folder's entry in the offset log
    * @param plan
    *   JSON, `{"operators": [{"id", "partitions", "layout", "empty"}], "stores"}`; `stores` as for `copy`
    * @return
    *   JSON, an array of `{"operator", "store", "partition", "uid", "files"}`; `files` as for `copy`, those that were
    *   copied
    */
  def restore(
      session: SparkSession,
      from: String,
      to: String,
      version: Long,
      offsetMetadata: String,
      plan: String
  ): String = {
    refuseDriverMemory(session)
    val context = session.sparkContext
    val hadoop = configuration(session)
    val reader = new StoredRows(from, StateStoreConf(SessionInternals.settingsOfBatch(session, offsetMetadata)), hadoop)
    val parsed = RestorePlan.fromJson(plan)
    val stores = for (operator <- parsed.operators; store <- operator.layout.stores)
      yield (operator, store, (operator.id, store.name))
    val schemas = stores.map { case (operator, store, key) =>
      key -> StoreSchemas.of(to, operator.moved, store, hadoop.value)
    }.toMap
    val keyless = stores.map { case (operator, store, key) =>
      val sources = parsed.sources(operator, store)
      key -> GivenStates.gather(context, reader, operator, store, sources, schemas(key))
    }.toMap
    val rescale = new StoreRescale(reader, to, version, schemas, keyless)
    val shares = parsed.shares(context.defaultParallelism)
    val written = context.parallelize(shares, math.max(1, shares.size)).flatMap(rescale.run).collect()
    JsonMethods.compact(JArray(written.map { store =>
      JObject(named(store.id, store.uid).obj :+ ("files" -> filesOf(store.id, store.copied)))
    }.toList))
  }

  private def configuration(session: SparkSession) =
    new SerializableConfiguration(SessionInternals.hadoopConfiguration(session))

  /** There are no files then. */
  private def refuseDriverMemory(session: SparkSession): Unit = {
    val set = BackendSettings.read(ProviderSettings.set(SessionInternals.hadoopConfiguration(session)))
    if (set.driverMemory) {
      throw new InvalidConfiguration(
        s"State is in the driver's memory (${BackendSettings.Storage}), where it has no files.",
        "take a canonical savepoint, which is read through the state store."
      )
    }
  }
}
