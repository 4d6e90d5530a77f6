package io.snapline.spark.settings

/** Bounds of the history that the Checkpoints tab keeps. Settings of the application; in the history server, those of
  * the server.
  *
  * @param queries
  *   most queries whose checkpoints are shown; beyond them those that ended first are forgotten
  * @param checkpoints
  *   most checkpoints of one query
  * @param details
  *   most checkpoints, of all queries together, that keep the figures of each partition
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
