package io.snapline.spark.protocol

import io.snapline.error.InternalError

/** How the tasks of a micro-batch treat rows for which there is no time before the barrier
  * (docs/notes/010-unaligned.md).
  */
sealed trait Alignment {
  private[spark] def text: String
}

object Alignment {

  /** Every row is processed, as always. */
  case object Aligned extends Alignment {
    override private[spark] def text: String = ""
  }

  /** The batch has run before: where it was cut then it is cut again, and nowhere else.
    *
    * @param committed
    *   it ran to its end; if not, what an attempt noted may be half of it
    */
  final case class Repeated(committed: Boolean) extends Alignment {
    override private[spark] def text: String = if (committed) "committed" else "unfinished"
  }

  /** Rows for which there is no time become channel state.
    *
    * @param budgetMs
    *   for the rows of a partition
    */
  final case class Unaligned(budgetMs: Long, limits: ChannelLimits) extends Alignment {
    override private[spark] def text: String = s"$budgetMs,${limits.text}"
  }

  private[spark] def parse(text: String): Alignment = text match {
    case "" => Aligned
    case "committed" => Repeated(committed = true)
    case "unfinished" => Repeated(committed = false)
    case _ =>
      val parts = text.split(',').toSeq
      Unaligned(parts.head.toLong, ChannelLimits.parse(parts.tail))
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
  private[spark] def text: String = s"$bytes,$rows,$batches,$fails"
}

object ChannelLimits {
  private[spark] def parse(parts: Seq[String]): ChannelLimits = parts match {
    case Seq(bytes, rows, batches, fails) => ChannelLimits(bytes.toLong, rows.toLong, batches.toInt, fails.toBoolean)
    case other => throw new InternalError(s"${other.mkString(",")} are no limits.")
  }
}
