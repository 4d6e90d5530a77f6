package io.snapline.spark.protocol

import org.json4s.{DefaultFormats, Formats, JValue}
import org.json4s.JsonAST.JObject
import org.json4s.JsonDSL._

import io.snapline.error.InternalError

/** How the tasks of a micro-batch treat rows for which there is no time before the barrier
  * (docs/notes/010-unaligned.md).
  */
sealed trait Alignment {
  private[protocol] def json: JObject
}

object Alignment {

  /** Every row is processed, as always. */
  case object Aligned extends Alignment {
    override private[protocol] def json: JObject = "kind" -> "aligned"
  }

  /** The batch has run before: where it was cut then it is cut again, and nowhere else.
    *
    * @param committed
    *   it ran to its end; if not, what an attempt noted may be half of it
    */
  final case class Repeated(committed: Boolean) extends Alignment {
    override private[protocol] def json: JObject = ("kind" -> "repeated") ~ ("committed" -> committed)
  }

  /** Rows for which there is no time become channel state.
    *
    * @param budgetMs
    *   for the rows of a partition
    */
  final case class Unaligned(budgetMs: Long, limits: ChannelLimits) extends Alignment {
    override private[protocol] def json: JObject =
      ("kind" -> "unaligned") ~ ("budget_ms" -> budgetMs) ~ ("limits" -> limits.json)
  }

  private implicit val formats: Formats = DefaultFormats

  private[protocol] def read(json: JValue): Alignment = (json \ "kind").extract[String] match {
    case "aligned" => Aligned
    case "repeated" => Repeated((json \ "committed").extract[Boolean])
    case "unaligned" => Unaligned((json \ "budget_ms").extract[Long], (json \ "limits").extract[ChannelLimits])
    case other => throw new InternalError(s"$other is no alignment.")
  }
}

/** When channel state is too much for a partition to put more into it.
  *
  * @param batches
  *   whose rows wait
  * @param fails
  *   whether the task then fails; if not, the batch is aligned
  */
final case class ChannelLimits(bytes: Long, rows: Long, batches: Int, fails: Boolean) {
  private[protocol] def json: JObject =
    ("bytes" -> bytes) ~ ("rows" -> rows) ~ ("batches" -> batches) ~ ("fails" -> fails)
}
