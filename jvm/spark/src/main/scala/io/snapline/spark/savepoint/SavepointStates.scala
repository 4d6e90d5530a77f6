package io.snapline.spark.savepoint

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.json4s.JsonAST.{JObject, JString}
import org.json4s.jackson.JsonMethods

import io.snapline.error.{IncompatibleState, NotACheckpoint}
import io.snapline.snapshot.{Frame, FrameReader}
import io.snapline.storage.HadoopCheckpointStorage

/** The states that a savepoint says it has (docs/FORMAT.md section 11). */
private[savepoint] final class SavepointStates(folder: Path, configuration: Configuration) {
  private val files = folder.getFileSystem(configuration)
  private def has(name: String): Boolean = files.exists(new Path(folder, name))

  /** Whether a savepoint was written here, or begun. */
  def isOne: Boolean = has(SavepointStates.Metadata) || has(SavepointStates.Unfinished)

  def operators: Seq[OperatorLayout] = {
    if (!has(SavepointStates.Metadata)) throw new NotACheckpoint(
      s"$folder is a savepoint that was never finished, or is being written.",
      "wait for it, or remove it (`snapline savepoint dispose`) and take another."
    )
    val reader =
      new FrameReader(
        new HadoopCheckpointStorage(folder, configuration),
        SavepointStates.Metadata,
        Frame.SavepointMagic
      )
    val meta =
      try reader.meta
      finally reader.close()
    try {
      val json = JsonMethods.parse(new String(meta, java.nio.charset.StandardCharsets.UTF_8))
      if (json \ "format" != JString(SavepointStates.Canonical)) throw new IncompatibleState(
        s"$folder is a savepoint of the store's own files, which hold no tables.",
        "take a canonical one, or restore it and read the checkpoint."
      )
      (json \ "operators").children.collect { case operator: JObject =>
        OperatorLayout.fromJson(JsonMethods.compact(operator))
      }
    } catch {
      case e @ (_: org.json4s.MappingException | _: com.fasterxml.jackson.core.JsonProcessingException) =>
        throw Frame.damaged(s"$folder/${SavepointStates.Metadata}", s"its meta cannot be read: ${e.getMessage}")
    }
  }
}

private[savepoint] object SavepointStates {
  val Metadata = "_metadata"
  val Unfinished = "_unfinished"
  private val Canonical = "canonical"

  /** Where a state is, relative to its savepoint. Spark and Hive pass over names that begin with `_` or `.`. */
  def folder(operator: Long, state: String): String = {
    val safe = state.getBytes("UTF-8").zipWithIndex.map { case (byte, at) =>
      val c = (byte & 0xff).toChar
      val plain = c < 128 && (c.isLetterOrDigit || "$-.~".contains(c) || c == '_')
      if (plain && !(at == 0 && "_.".contains(c))) c.toString else f"%%${byte & 0xff}%02X"
    }
    s"operator-$operator/${safe.mkString}"
  }
}
