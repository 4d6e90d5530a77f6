package io.snapline.spark.provider

import java.util.Locale

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.execution.streaming.state.StateStoreConf

import io.snapline.error.InvalidConfiguration
import io.snapline.keygroup.KeyGroups
import io.snapline.snapshot.{SnapshotPolicy, StateSettings}

/** What a provider is set to, read once when it is made. Sizes in bytes.
  *
  * @param nativeMemory
  *   of RocksDB, for all stores of an executor
  * @param tableMemory
  *   of the row tables, for all stores of an executor
  */
final case class ProviderSettings(
    nativeMemory: Long,
    tableMemory: Long,
    compression: String,
    maxParallelism: Int,
    snapshotThreads: Int,
    state: StateSettings
)

object ProviderSettings {
  val Prefix = "spark.snapline."
  val NativeMemory: String = Prefix + "state.backend.rocksdb.memory.fixed-per-executor"
  val TableFraction: String = Prefix + "state.backend.row-table.memory-fraction"
  val Compression: String = Prefix + "state.backend.compression"
  val ChangelogCompression: String = Prefix + "state.changelog.compression"
  val MaxParallelism: String = Prefix + "max-parallelism"
  val SnapshotThreads: String = Prefix + "snapshot.threads"

  private val known =
    Set(NativeMemory, TableFraction, Compression, ChangelogCompression, MaxParallelism, SnapshotThreads)

  /** All of Spark's session settings are in the Hadoop configuration; Spark's own state store settings come as `conf`.
    */
  def read(conf: StateStoreConf, configuration: Configuration): ProviderSettings = {
    val set = configuration.getPropsWithPrefix(Prefix).asScala.map { case (name, value) => (Prefix + name) -> value }
    set.keys.filterNot(known).toSeq.sorted.headOption.foreach { name =>
      throw new InvalidConfiguration(
        s"$name is no setting of Snapline.",
        s"use one of ${known.toSeq.sorted.mkString(", ")}."
      )
    }
    if (conf.minVersionsToRetain < 1) {
      refuse("spark.sql.streaming.minBatchesToRetain", conf.minVersionsToRetain.toString, "a number from 1")
    }
    if (conf.minDeltasForSnapshot < 1) {
      val name = "spark.sql.streaming.stateStore.minDeltasForSnapshot"
      refuse(name, conf.minDeltasForSnapshot.toString, "a number from 1")
    }
    val values = set.toMap
    ProviderSettings(
      nativeMemory = size(values, NativeMemory, 128L << 20, 8L << 20, 1L << 40),
      tableMemory = (fraction(values, TableFraction, 0.2, 0.8) * Runtime.getRuntime.maxMemory).toLong,
      compression = choice(values, Compression, Seq("lz4", "zstd", "none")),
      maxParallelism =
        number(values, MaxParallelism, KeyGroups.DefaultMaxParallelism, 1, KeyGroups.MaxMaxParallelism),
      snapshotThreads = number(values, SnapshotThreads, 2, 1, 64),
      state = StateSettings(
        compress = choice(values, ChangelogCompression, Seq("lz4", "none")) == "lz4",
        retain = conf.minVersionsToRetain,
        minStale = conf.minVersionsToDelete,
        maxDeletes = conf.maxVersionsToDeletePerMaintenance,
        policy = SnapshotPolicy(minChangelogs = conf.minDeltasForSnapshot)
      )
    )
  }

  private def choice(set: Map[String, String], name: String, values: Seq[String]): String =
    set.get(name).fold(values.head) { text =>
      val value = text.trim.toLowerCase(Locale.ROOT)
      if (values.contains(value)) value else refuse(name, text, values.mkString("one of ", ", ", ""))
    }

  private def number(set: Map[String, String], name: String, default: Int, least: Int, most: Int): Int =
    set.get(name).fold(default) { text =>
      val parsed = text.trim.toIntOption.filter(n => n >= least && n <= most)
      parsed.getOrElse(refuse(name, text, s"a number from $least to $most"))
    }

  private def fraction(set: Map[String, String], name: String, default: Double, most: Double): Double =
    set.get(name).fold(default) { text =>
      val parsed = text.trim.toDoubleOption.filter(n => n >= 0 && n <= most)
      parsed.getOrElse(refuse(name, text, s"a fraction from 0 to $most"))
    }

  private def size(set: Map[String, String], name: String, default: Long, least: Long, most: Long): Long =
    set.get(name).fold(default) { text =>
      val parsed = bytes(text).filter(n => n >= least && n <= most)
      parsed.getOrElse(refuse(name, text, s"a size from ${least >> 20}m to ${most >> 30}g, such as 128m or 1g"))
    }

  private val Size = """(\d{1,15})\s*([bkmg]?)b?""".r

  private def bytes(text: String): Option[Long] = text.trim.toLowerCase(Locale.ROOT) match {
    case Size(count, unit) =>
      val shift = unit match {
        case "k" => 10
        case "m" => 20
        case "g" => 30
        case _ => 0
      }
      Try(Math.multiplyExact(count.toLong, 1L << shift)).toOption
    case _ => None
  }

  private def refuse(name: String, found: String, wanted: String): Nothing =
    throw new InvalidConfiguration(s"$name is '$found'.", s"set it to $wanted.")
}
