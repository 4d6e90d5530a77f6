package io.snapline.spark.ui

import java.time.format.DateTimeFormatter
import java.time.{Instant, ZoneId}
import java.util.Locale

/** Figures as people read them, in the manner of Spark's own pages. A figure without a value yet is a dash. */
private[ui] object Display {
  val None = "-"

  private val dateAndTime = DateTimeFormatter.ofPattern("yyyy/MM/dd HH:mm:ss", Locale.US)
  private val timeOfDay = DateTimeFormatter.ofPattern("HH:mm:ss", Locale.US)
  private val dayAndTime = DateTimeFormatter.ofPattern("MM/dd HH:mm", Locale.US)
  private val units = Seq("B", "KiB", "MiB", "GiB", "TiB", "PiB")
  private val dayMs = 24L * 60 * 60 * 1000

  /** In the zone of the server, as Spark shows times. */
  def time(ms: Long): String = if (ms < 0) None else at(ms, dateAndTime)

  /** On an axis that is so long. */
  def axisTime(ms: Long, spanMs: Long): String = at(ms, if (spanMs > dayMs) dayAndTime else timeOfDay)

  private def at(ms: Long, format: DateTimeFormatter): String =
    format.withZone(ZoneId.systemDefault()).format(Instant.ofEpochMilli(ms))

  def duration(ms: Long): String =
    if (ms < 0) None
    else if (ms < 1000) s"$ms ms"
    else if (ms < 60000) number(ms / 1000.0, "s")
    else if (ms < 3600000) number(ms / 60000.0, "min")
    else if (ms < 2 * dayMs) number(ms / 3600000.0, "h")
    else number(ms / dayMs.toDouble, "d")

  def bytes(count: Long): String =
    if (count < 0) None
    else if (count < 1024) s"$count B"
    else {
      val power = math.min(units.size - 1, (63 - java.lang.Long.numberOfLeadingZeros(count)) / 10)
      number(count / math.pow(1024, power.toDouble), units(power))
    }

  def count(n: Long): String = "%,d".formatLocal(Locale.US, n)

  private def number(value: Double, unit: String): String = "%.1f %s".formatLocal(Locale.US, value, unit)
}
