package io.snapline.spark.settings

import java.util.Locale

import scala.util.Try

import io.snapline.error.InvalidConfiguration

/** Reads settings from their texts, by the table of settings: a setting that is not set has its default, and a value
  * out of its range is refused by name.
  *
  * @param set
  *   texts by name
  */
private[spark] final class SettingValues(set: Map[String, String]) {

  /** One of the words of the table, as it stands there. */
  def choice(name: String): String = value(name, "choice") { (row, text) =>
    row.values.find(_.equalsIgnoreCase(text.trim)).toRight(row.values.mkString("one of ", ", ", ""))
  }.get

  def flag(name: String): Boolean = value(name, "flag") { (_, text) =>
    text.trim.toBooleanOption.toRight("true or false")
  }.get

  def number(name: String): Int = value(name, "number") { (row, text) =>
    val (least, most) = (row.least.get, row.most.get)
    text.trim.toIntOption.filter(n => n >= least.toInt && n <= most.toInt).toRight(s"a number from $least to $most")
  }.get

  def fraction(name: String): Double = value(name, "fraction") { (row, text) =>
    val (least, most) = (row.least.get, row.most.get)
    text.trim.toDoubleOption.filter(n => n >= least.toDouble && n <= most.toDouble)
      .toRight(s"a fraction from $least to $most")
  }.get

  /** Bytes. */
  def size(name: String): Long = sizeIfSet(name).get

  /** Bytes; None where the setting is not set and has no default. */
  def sizeIfSet(name: String): Option[Long] = value(name, "size") { (row, text) =>
    val (least, most) = (row.least.get, row.most.get)
    def limit(text: String): Long = SettingValues.bytes(text).get
    SettingValues.bytes(text).filter(n => n >= limit(least) && n <= limit(most)).toRight(s"a size from $least to $most")
  }

  /** @param read
    *   the value of a text, or else the values that there are
    */
  private def value[A](name: String, kind: String)(
      read: (SettingsTable.Setting, String) => Either[String, A]
  ): Option[A] = {
    val row = SettingsTable(name, kind)
    set.get(name).orElse(row.default).map { text =>
      read(row, text).fold(wanted => SettingValues.refuse(name, text, wanted), identity)
    }
  }
}

private[spark] object SettingValues {
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

  def refuse(name: String, found: String, wanted: String): Nothing =
    throw new InvalidConfiguration(s"$name is '$found'.", s"set it to $wanted.")
}
