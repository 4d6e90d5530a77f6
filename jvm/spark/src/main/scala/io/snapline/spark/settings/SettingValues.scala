package io.snapline.spark.settings

import java.util.Locale

import scala.util.Try

import io.snapline.error.InvalidConfiguration

/** Reads settings from their texts; what does not fit is refused by name. */
private[spark] final class SettingValues(set: Map[String, String]) {

  def choice(name: String, values: Seq[String]): String =
    set.get(name).fold(values.head) { text =>
      val value = text.trim.toLowerCase(Locale.ROOT)
      if (values.contains(value)) value else SettingValues.refuse(name, text, values.mkString("one of ", ", ", ""))
    }

  def flag(name: String, default: Boolean = true): Boolean =
    choice(name, Seq(default, !default).map(_.toString)) == "true"

  def number(name: String, default: Int, least: Int, most: Int): Int =
    set.get(name).fold(default) { text =>
      val parsed = text.trim.toIntOption.filter(n => n >= least && n <= most)
      parsed.getOrElse(SettingValues.refuse(name, text, s"a number from $least to $most"))
    }

  def fraction(name: String, default: Double, most: Double): Double =
    set.get(name).fold(default) { text =>
      val parsed = text.trim.toDoubleOption.filter(n => n >= 0 && n <= most)
      parsed.getOrElse(SettingValues.refuse(name, text, s"a fraction from 0 to $most"))
    }

  def size(name: String, default: Long, least: Long, most: Long): Long =
    set.get(name).fold(default) { text =>
      val parsed = SettingValues.bytes(text).filter(n => n >= least && n <= most)
      parsed.getOrElse(
        SettingValues.refuse(name, text, s"a size from ${SettingValues.sized(least)} to ${SettingValues.sized(most)}")
      )
    }
}

private[spark] object SettingValues {
  private val Size = """(\d{1,15})\s*([bkmg]?)b?""".r

  private def sized(bytes: Long): String =
    Seq(30 -> "g", 20 -> "m", 10 -> "k").collectFirst {
      case (shift, unit) if bytes > 0 && bytes % (1L << shift) == 0 => s"${bytes >> shift}$unit"
    }.getOrElse(bytes.toString)

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
