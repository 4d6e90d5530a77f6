package io.snapline.spark.coordinator

import scala.util.control.NonFatal

import io.snapline.checkpoint.{CheckpointMetadata, PendingCheckpoint, WriterVersions}
import io.snapline.spark.protocol.{CheckpointFolder, LogEntries}
import io.snapline.spark.settings.SparkLineCheck

/** Makes a checkpoint exist: sees that all it names is there, then writes its `_metadata`. */
private[spark] final class CheckpointCompletion(folder: CheckpointFolder, maxParallelism: Int) {

  /** @param operators
    *   names of the stateful operators
    * @return
    *   length of the metadata, or why there is none
    */
  def run(query: String, p: PendingCheckpoint, operators: Map[Long, String]): Either[String, Long] =
    try {
      folder.verify(p.handles)
      Right(folder.write(metadata(query, p, operators, folder.entries(p.batch))))
    } catch { case NonFatal(e) => Left(s"${e.getClass.getSimpleName}: ${e.getMessage}") }

  private def metadata(
      query: String,
      p: PendingCheckpoint,
      operators: Map[Long, String],
      entries: LogEntries
  ): CheckpointMetadata = CheckpointMetadata.of(
    query,
    p,
    operators,
    System.currentTimeMillis(),
    entries.offsets,
    entries.commit,
    entries.watermarkMs,
    maxParallelism,
    WriterVersions(SparkLineCheck.version, org.apache.spark.SPARK_VERSION)
  )
}
