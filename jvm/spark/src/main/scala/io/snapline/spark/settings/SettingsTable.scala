package io.snapline.spark.settings

import java.nio.charset.StandardCharsets.UTF_8

import org.json4s.{DefaultFormats, Formats}
import org.json4s.jackson.JsonMethods

/** The table of all settings. The build copies it from the Python package (`settings/table.json`) into the jar. */
private[spark] object SettingsTable {

  /** A row of the table.
    *
    * @param default
    *   as a text; None: the setting is not set
    * @param values
    *   the words that it takes, if it takes words
    */
  final case class Setting(
      name: String,
      kind: String,
      default: Option[String],
      values: List[String] = Nil,
      least: Option[String] = None,
      most: Option[String] = None
  )

  private lazy val settings: Map[String, Setting] = {
    implicit val formats: Formats = DefaultFormats
    val stream = getClass.getClassLoader.getResourceAsStream("snapline/settings.json")
    val text =
      try new String(stream.readAllBytes(), UTF_8)
      finally stream.close()
    JsonMethods.parse(text).extract[List[Setting]].map(setting => setting.name -> setting).toMap
  }

  def contains(name: String): Boolean = settings.contains(name)

  def names: Seq[String] = settings.keys.toSeq.sorted

  /** The row of a setting that there is, which must be of this kind. */
  def apply(name: String, kind: String): Setting = {
    val setting = settings(name)
    require(setting.kind == kind, s"$name is a ${setting.kind}, and is read as a $kind")
    setting
  }
}
