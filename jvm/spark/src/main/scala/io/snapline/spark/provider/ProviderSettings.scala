package io.snapline.spark.provider

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.execution.streaming.state.StateStoreConf

import io.snapline.checkpoint.CoordinatorSettings
import io.snapline.error.InvalidConfiguration
import io.snapline.keygroup.KeyGroups
import io.snapline.snapshot.store.{SnapshotPolicy, StateSettings}
import io.snapline.spark.settings.{SettingValues, SettingsTable}

/** The settings of a provider, read once when it is made. Sizes in bytes.
  *
  * @param nativeMemory
  *   memory of RocksDB, for all stores of an executor
  * @param tableMemory
  *   memory of the row tables, for all stores of an executor
  * @param fileMerging
  *   whether handles of many stores share a file
  * @param mergedFileSize
  *   greatest size of such a file
  * @param timeIndex
  *   whether a state that a watermark clears has an index of its rows' times
  */
final case class ProviderSettings(
    nativeMemory: Long,
    tableMemory: Long,
    compression: String,
    maxParallelism: Int,
    snapshotThreads: Int,
    fileMerging: Boolean,
    mergedFileSize: Long,
    timeIndex: Boolean,
    backend: BackendSettings,
    state: StateSettings
)

object ProviderSettings {
  val Prefix = "spark.snapline."
  val NativeMemory: String = Prefix + "state.backend.rocksdb.memory.fixed-per-executor"
  val TableFraction: String = Prefix + "state.backend.row-table.memory-fraction"
  val Compression: String = Prefix + "state.backend.compression"
  val ChangelogCompression: String = Prefix + "state.changelog.compression"
  val Changelog: String = Prefix + "state.changelog.enabled"
  val MaxParallelism: String = Prefix + "max-parallelism"
  val TimeIndex: String = Prefix + "state.time-index.enabled"
  val Rebalance: String = Prefix + "state.rebalance.enabled"
  val SnapshotThreads: String = Prefix + "snapshot.threads"
  val LocalBackup: String = CoordinatorSettings.Prefix + "local-backup.enabled"
  val InlineThreshold: String = CoordinatorSettings.Prefix + "data-inline-threshold"

  val FileMerging: String = CoordinatorSettings.Prefix + "file-merging.enabled"
  val MergedFileSize: String = CoordinatorSettings.Prefix + "file-merging.max-file-size"

  /** Snapline's settings of a session, all of whose settings are in its Hadoop configuration. */
  def set(configuration: Configuration): Map[String, String] =
    configuration.getPropsWithPrefix(Prefix).asScala.map { case (name, value) => (Prefix + name) -> value }.toMap

  /** For who needs nothing but this, and no store. */
  def maxParallelism(configuration: Configuration): Int =
    configuration.getInt(MaxParallelism, KeyGroups.DefaultMaxParallelism)

  /** Spark's own state store settings come as `conf`. */
  def read(conf: StateStoreConf, configuration: Configuration): ProviderSettings = {
    val set = this.set(configuration)
    // The settings of checkpoints are the Python package's to check.
    set.keys.filterNot(name => SettingsTable.contains(name) || name.startsWith(CoordinatorSettings.Prefix))
      .toSeq.sorted.headOption.foreach { name =>
        throw new InvalidConfiguration(
          s"$name is no setting of Snapline.",
          s"use one of ${SettingsTable.names.mkString(", ")}."
        )
      }
    if (conf.minVersionsToRetain < 1) {
      SettingValues.refuse(
        "spark.sql.streaming.minBatchesToRetain",
        conf.minVersionsToRetain.toString,
        "a number from 1"
      )
    }
    if (conf.minDeltasForSnapshot < 1) {
      val name = "spark.sql.streaming.stateStore.minDeltasForSnapshot"
      SettingValues.refuse(name, conf.minDeltasForSnapshot.toString, "a number from 1")
    }
    val values = new SettingValues(set)
    val backend = BackendSettings.read(set)
    import values.{choice, flag, fraction, number, size}
    ProviderSettings(
      nativeMemory = size(NativeMemory),
      tableMemory = (fraction(TableFraction) * Runtime.getRuntime.maxMemory).toLong,
      compression = choice(Compression),
      maxParallelism = number(MaxParallelism),
      snapshotThreads = number(SnapshotThreads),
      fileMerging = flag(FileMerging),
      mergedFileSize = size(MergedFileSize),
      timeIndex = flag(TimeIndex),
      backend = backend,
      state = StateSettings(
        compress = choice(ChangelogCompression) == "lz4",
        retain = conf.minVersionsToRetain,
        minStale = conf.minVersionsToDelete,
        maxDeletes = conf.maxVersionsToDeletePerMaintenance,
        policy = SnapshotPolicy(minChangelogs = conf.minDeltasForSnapshot),
        changelog = flag(Changelog),
        incremental = backend.incremental,
        inlineThreshold = size(InlineThreshold).toInt,
        localBackup = flag(LocalBackup)
      )
    )
  }
}
