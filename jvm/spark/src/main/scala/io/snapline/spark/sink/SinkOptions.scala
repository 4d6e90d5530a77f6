package io.snapline.spark.sink

import java.util.Locale

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.snapline.error.InvalidConfiguration

/** Options that every exactly-once sink has.
  *
  * @param name
  *   tells apart the sinks of a query; None: the target's own name
  * @param rewrite
  *   a batch to write once more, though the sink has it or later ones: rows of it may come twice
  * @param warnsOfDifference
  *   whether rows that differ from those written before are only warned of
  */
private[sink] final case class SinkOptions(name: Option[String], rewrite: Option[Long], warnsOfDifference: Boolean)

private[sink] object SinkOptions {
  val Name = "sink"
  val Rewrite = "rewrite"
  val Difference = "difference"

  private val All = Seq(Name, Rewrite, Difference)

  /** Spark's own of a writer. */
  private val OfSpark = Seq("checkpointLocation", "path", "queryName")

  /** Options of a format and of every sink, in lower case: no client of a system reads them. */
  def known(own: Seq[String]): Set[String] = (own ++ All ++ OfSpark).map(_.toLowerCase(Locale.ROOT)).toSet

  def apply(options: CaseInsensitiveStringMap): SinkOptions = SinkOptions(
    Option(options.get(Name)).filter(_.nonEmpty),
    Option(options.get(Rewrite)).map { text =>
      text.toLongOption.filter(_ >= 0).getOrElse(
        throw new InvalidConfiguration(
          s"The option $Rewrite is $text.",
          "give the number of the batch that an error names."
        )
      )
    },
    Option(options.get(Difference)).getOrElse("fail").toLowerCase match {
      case "fail" => false
      case "warn" => true
      case other => throw new InvalidConfiguration(s"The option $Difference is $other.", "set it to fail or warn.")
    }
  )

  /** Refuses options that nobody reads.
    *
    * @param own
    *   the format's options, whatever their case
    * @param isOther
    *   whether an option, in lower case, is handed on to the system's client
    */
  def check(format: String, options: CaseInsensitiveStringMap, own: Seq[String], isOther: String => Boolean): Unit = {
    val all = known(own)
    val unknown = options.keySet.asScala.toSeq.filterNot(name => all(name) || isOther(name)).sorted
    if (unknown.nonEmpty) throw new InvalidConfiguration(
      s"The format $format has no option ${unknown.mkString(", ")}.",
      s"it has ${(own ++ All).mkString(", ")}."
    )
  }
}
