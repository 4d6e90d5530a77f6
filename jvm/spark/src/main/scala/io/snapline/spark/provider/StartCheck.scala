package io.snapline.spark.provider

import java.io.FileNotFoundException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.state.StateStoreConf

import io.snapline.error.IncompatibleState
import io.snapline.snapshot.format.Origin
import io.snapline.snapshot.merged.{MergedFiles, NewestOrigin}
import io.snapline.spark.protocol.CheckpointFolder
import io.snapline.storage.HadoopCheckpointStorage

/** Refuses a query whose settings do not fit the state of its checkpoint, before Spark has written anything: on the
  * driver, from one file of one store. The stores refuse the rest when they load.
  */
object StartCheck {

  /** Every partition of a query writes something at every version; that of a crash in the first may be missing. */
  private val Partitions = 3

  def run(checkpoint: Path, conf: StateStoreConf, configuration: Configuration): Unit =
    if (conf.providerClass == SnaplineProvider.ClassName) {
      written(checkpoint, configuration).foreach { origin =>
        val settings = ProviderSettings.read(conf, configuration)
        if (settings.backend.driverMemory) throw inFiles(checkpoint.toString, None)
        new StateProperties(conf, settings.maxParallelism, settings.backend.kind).checkOwn(origin, checkpoint.toString)
      }
    }

  private[provider] def inFiles(location: String, cause: Option[Throwable]): IncompatibleState = new IncompatibleState(
    s"The state in $location is in files; ${BackendSettings.Storage} says that it is in the driver's memory.",
    s"set ${BackendSettings.Storage} back to filesystem.",
    cause.orNull
  )

  private def written(checkpoint: Path, configuration: Configuration): Option[Origin] = {
    val files = checkpoint.getFileSystem(configuration)
    def folders(of: Path): Seq[Path] =
      try files.listStatus(of).toSeq.filter(_.isDirectory).map(_.getPath)
      catch { case _: FileNotFoundException => Nil }
    def numbered(of: Path): Seq[Path] =
      folders(of).filter(_.getName.toIntOption.isDefined).sortBy(_.getName.toInt)
    def origin(folder: Path): Option[Origin] = NewestOrigin.of(new HadoopCheckpointStorage(folder, configuration))

    val partitions = numbered(new Path(checkpoint, "state")).take(1).flatMap(numbered(_).take(Partitions))
    // The stores of a join have a folder each.
    partitions.iterator.flatMap(folder => origin(folder).orElse(folders(folder).iterator.flatMap(origin).nextOption()))
      .nextOption()
      .orElse {
        // Without an operator there is no state to be merged.
        if (partitions.isEmpty) None
        else NewestOrigin.of(new MergedFiles(CheckpointFolder.mergedStorage(checkpoint, configuration)))
      }
  }
}
