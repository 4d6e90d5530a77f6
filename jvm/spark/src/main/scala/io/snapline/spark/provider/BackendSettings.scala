package io.snapline.spark.provider

import java.util.Locale

import io.snapline.error.InvalidConfiguration
import io.snapline.spark.settings.SettingValues
import io.snapline.state.heap.{HeapBackend, HeapMemory, HeapSettings}
import io.snapline.state.rocksdb.RocksDbBackend

/** The places of working state and of snapshots. Sizes in bytes.
  *
  * @param kind
  *   the backend's name, as in the handle's meta
  * @param driverMemory
  *   whether files are kept in the driver's memory
  * @param heapLimit
  *   limit of all heap backends of an executor; 0: none
  * @param incremental
  *   whether a snapshot may name table files of an earlier one
  */
final case class BackendSettings(
    kind: String,
    driverMemory: Boolean,
    heap: HeapSettings,
    heapLimit: Long,
    incremental: Boolean
)

object BackendSettings {
  val Type: String = ProviderSettings.Prefix + "state.backend.type"
  val AsyncSnapshots: String = ProviderSettings.Prefix + "state.backend.hashmap.async-snapshots"
  val Incremental: String = ProviderSettings.Prefix + "execution.checkpointing.incremental"
  val Storage: String = ProviderSettings.Prefix + "execution.checkpointing.storage"
  val MaxStateSize: String = ProviderSettings.Prefix + "execution.checkpointing.storage.max-state-size"

  private val FileSystem = "filesystem"
  private val Memory = "memory"

  /** Flink's classic backends, each a backend and a storage. */
  private val classic = Map(
    "memorystatebackend" -> (HeapBackend.Kind -> Memory),
    "fsstatebackend" -> (HeapBackend.Kind -> FileSystem),
    "rocksdbstatebackend" -> (RocksDbBackend.Kind -> FileSystem)
  )

  def read(set: Map[String, String]): BackendSettings = {
    val values = new SettingValues(set)
    import values.{choice, flag, size, sizeIfSet}
    val chosen =
      Option.when(set.contains(Storage))(if (choice(Storage) == FileSystem) FileSystem else Memory)
    val (kind, storage) = set.get(Type).map(_.trim.toLowerCase(Locale.ROOT)).flatMap(classic.get) match {
      case Some((_, implied)) if chosen.exists(_ != implied) =>
        throw new InvalidConfiguration(
          s"$Type is '${set(Type)}', which goes with $implied storage, and $Storage is '${set(Storage)}'.",
          s"leave $Storage out, or set $Type to ${RocksDbBackend.Kind} or ${HeapBackend.Kind}."
        )
      case Some(both) => both
      case None =>
        choice(Type) -> chosen.getOrElse(FileSystem)
    }
    if (storage == Memory && kind != HeapBackend.Kind) {
      throw new InvalidConfiguration(
        s"$Storage is '${set(Storage)}' and the state backend is $kind, whose files are larger than a driver's memory should hold.",
        s"set $Type to ${HeapBackend.Kind}, or $Storage to $FileSystem."
      )
    }
    BackendSettings(
      kind,
      storage == Memory,
      HeapSettings(
        asyncSnapshots = flag(AsyncSnapshots),
        maxStateSize = if (storage == Memory) size(MaxStateSize) else 0
      ),
      sizeIfSet(HeapMemory.Setting).getOrElse(0L),
      flag(Incremental)
    )
  }
}
