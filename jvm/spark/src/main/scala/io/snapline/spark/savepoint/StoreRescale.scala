package io.snapline.spark.savepoint

import java.io.File

import org.apache.spark.sql.execution.streaming.state.{NoPrefixKeyStateEncoderSpec, StateSchemaProvider}

import io.snapline.checkpoint.StoreId
import io.snapline.error.IncompatibleState
import io.snapline.snapshot.store.{CopiedFile, StoreAssembly}
import io.snapline.spark.operator.channel.{ChannelSpread, ChannelState}
import io.snapline.spark.provider.LocalBackends
import io.snapline.state.ColumnFamily

/** Puts the partitions of a new checkpoint folder together of the rows of others, byte for byte as they are kept;
  * travels to the executors.
  *
  * Old partitions are read one after the other, each family in the order of its keys: so each gives each new partition
  * a run of rows in order, and nothing is sorted or held in memory.
  *
  * @param to
  *   the new folder
  * @param version
  *   version of the stores there
  * @param schemas
  *   evolved schemas for Avro encoding, by the operator's number in the new folder and store
  * @param keyless
  *   the states that are not spread by a key
  */
private[savepoint] final class StoreRescale(
    reader: StoredRows,
    to: String,
    version: Long,
    schemas: Map[(Long, String), Option[StateSchemaProvider]],
    keyless: Map[(Long, String), GivenStates]
) extends Serializable {

  /** One task's. */
  def run(share: StoreShare): Seq[WrittenStore] =
    if (staysAsItIs(share)) {
      val ids = share.targets.map(idIn(share, _))
      val copied = new StoreCopies(reader.from, to, reader.configuration).run(share.sources.zip(ids))
      ids.zip(copied).map { case (id, version) => WrittenStore(id, version.ref.uid, version.files) }
    } else reader.inFolder("snapline-rescale")(spread(share, _))

  /** Whether the store's files can be copied as they are. Not with a union list, whose content changes in a restore. */
  private def staysAsItIs(share: StoreShare): Boolean =
    share.sources.nonEmpty && share.operator.partitions == share.operator.layout.parallelism &&
      share.sources.forall(source =>
        source.version == version && reader.kind(source) == reader.settings.backend.kind
      ) &&
      !share.store.families.exists(_.placement == Placement.Dealt(union = true))

  private def idIn(share: StoreShare, partition: Int) = StoreId(share.operator.id, partition, share.store.name)

  private def spread(share: StoreShare, local: File): Seq[WrittenStore] = {
    val backends = new LocalBackends(reader.settings.backend.kind, new File(local, "targets"), reader.settings)
    val assemblies = new Array[StoreAssembly](share.operator.partitions)
    val key = (share.operator.id, share.store.name)
    val encodings = reader.encodings(share.operator.layout, share.store, schemas(key))
    val waiting = new ChannelSpread(encodings.of(StoreRescale.Channel), share.targets, new File(local, "waiting"))
    try {
      share.targets.foreach(target => assemblies(target) = new StoreAssembly(backends.newBuilder()))
      val routes = new KeyRoutes(share.operator, encodings, reader.settings.maxParallelism)
      share.sources.foreach { source =>
        val from = source.id.partition
        reader.reading(source, local)(_.foreach { rows =>
          if (rows.descriptor.name == ChannelState.Family) {
            waiting.add(rows, s"partition $from of ${share.operator.layout.title}", routes.ofRows(_, from))
          } else spread(share, routes, from, rows, assemblies)
        })
      }
      val folders = new StoreFolders(to, reader.configuration.value)
      val origin = reader.origin(backends.kind)
      share.targets.map { target =>
        val assembly = assemblies(target)
        keyless(key).of(target).foreach { rows =>
          assembly.begin(rows.family)
          rows.rows.foreach { case (key, value) => assembly.put(key, value) }
        }
        waiting.descriptor.foreach { channel =>
          assembly.begin(channel)
          waiting.write(target)(assembly.put)
        }
        val id = idIn(share, target)
        WrittenStore(id, assembly.write(folders.files(id), version, origin, reader.settings.state).uid, Nil)
      }
    } finally {
      assemblies.foreach(assembly => if (assembly != null) assembly.close())
      waiting.close()
    }
  }

  private def spread(
      share: StoreShare,
      routes: KeyRoutes,
      from: Int,
      rows: ColumnFamily,
      assemblies: Array[StoreAssembly]
  ): Unit = share.store.family(rows.descriptor.name) match {
    case Some(family) if GivenStates.isGiven(family) => ()
    case Some(family) =>
      share.targets.foreach(assemblies(_).begin(rows.descriptor))
      val route = routes.of(family, rows.descriptor, from)
      val cursor = rows.iterate()
      try while (cursor.next()) {
          val key = cursor.key
          val assembly = assemblies(route(key))
          if (assembly != null) assembly.put(key, cursor.value)
        }
      finally cursor.close()
    // An operator with several states declares the default one, and does not use it.
    case None if rows.keyCount == 0 => ()
    case None => throw new IncompatibleState(
        s"Partition $from of ${share.operator.layout.title} has entries of a state ${rows.descriptor.name}, which the description of the operator does not name.",
        s"take the state back into the function, or delete it there (ctx.delete_if_exists(\"${rows.descriptor.name}\")), let a batch run, and do it again; if no version of the function had it, report it with the query's plan."
      )
  }
}

/** A store of the new folder.
  *
  * @param copied
  *   files that another attempt of the task may have at work as well
  */
private[savepoint] final case class WrittenStore(id: StoreId, uid: String, copied: Seq[CopiedFile])

private object StoreRescale {

  /** The family of in-flight data. Spark does not know it: no operator describes it as a state. */
  val Channel: FamilyLayout = FamilyLayout(
    ChannelState.Family,
    ChannelState.Key,
    ChannelState.Value,
    NoPrefixKeyStateEncoderSpec(ChannelState.Key).json,
    multi = false,
    Placement.Fixed("rows that wait go where their keys go")
  )
}
