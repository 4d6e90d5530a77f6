package io.snapline.spark.settings

/** What the Checkpoints tab keeps. Settings of the application; in the history server, those of the server.
  *
  * @param queries
  *   whose checkpoints are shown; beyond them those that ended first are forgotten
  * @param checkpoints
  *   of one query
  * @param details
  *   checkpoints, of all queries together, of which the figures of each partition are kept
  */
final case class UiSettings(enabled: Boolean, queries: Int, checkpoints: Int, details: Int)

object UiSettings {
  private val Prefix = "spark.snapline.ui."
  val Enabled: String = Prefix + "enabled"
  val RetainedQueries: String = Prefix + "retained-queries"
  val RetainedCheckpoints: String = Prefix + "retained-checkpoints"
  val RetainedDetails: String = Prefix + "retained-details"

  def read(set: Map[String, String]): UiSettings = {
    val values = new SettingValues(set)
    UiSettings(
      values.flag(Enabled),
      values.number(RetainedQueries),
      values.number(RetainedCheckpoints),
      values.number(RetainedDetails)
    )
  }
}
