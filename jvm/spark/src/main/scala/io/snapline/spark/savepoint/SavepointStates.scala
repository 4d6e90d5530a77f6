package io.snapline.spark.savepoint

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.json4s.DefaultFormats
import org.json4s.JsonAST.{JObject, JString, JValue}
import org.json4s.jackson.JsonMethods

import io.snapline.error.NotACheckpoint
import io.snapline.snapshot.format.{Frame, FrameReader}
import io.snapline.storage.HadoopCheckpointStorage

/** The states that a savepoint says it has (docs/FORMAT.md section 11). */
private[savepoint] final class SavepointStates(folder: Path, configuration: Configuration) {
  private val files = folder.getFileSystem(configuration)
  private def has(name: String): Boolean = files.exists(new Path(folder, name))

  /** Whether a savepoint was written here, or begun. */
  def isOne: Boolean = has(SavepointStates.Metadata) || has(SavepointStates.Unfinished)

  def operators: Seq[OperatorLayout] = reading(operators(_))

  /** The stores of a native savepoint, which lie as in a checkpoint; None: it has tables. */
  def stores: Option[FoundState] = reading { json =>
    implicit val formats: DefaultFormats.type = DefaultFormats
    Option.when(json \ "format" == JString(SavepointStates.Native)) {
      val batch = (json \ "batch").extract[Long]
      val versions = StoreVersion.read(json \ "stores")
      FoundState(
        folder.toString,
        batch,
        (json \ "checkpoint").extract[Option[Long]],
        versions.headOption.fold(batch + 1)(_.version),
        (json \ "offsets").extract[String],
        (json \ "commit").extract[String],
        None,
        versions.flatMap(store => store.uid.map(store.id -> _)).toMap,
        // Where Spark's files are, relative to the stores' root.
        operators(json).map(each => each.copy(schemaFiles = each.schemaFiles.map(SavepointStates.SparkFiles + _)))
      )
    }
  }

  private def operators(json: JValue): Seq[OperatorLayout] = (json \ "operators").children.collect {
    case operator: JObject => OperatorLayout.fromJson(JsonMethods.compact(operator))
  }

  private def reading[A](body: JValue => A): A = {
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
    try body(JsonMethods.parse(new String(meta, java.nio.charset.StandardCharsets.UTF_8)))
    catch {
      case e @ (_: org.json4s.MappingException | _: com.fasterxml.jackson.core.JsonProcessingException) =>
        throw Frame.damaged(s"$folder/${SavepointStates.Metadata}", s"its meta cannot be read: ${e.getMessage}")
    }
  }
}

private[savepoint] object SavepointStates {
  val Metadata = "_metadata"
  val Unfinished = "_unfinished"
  private val Native = "native"
  private val SparkFiles = "spark/"

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
