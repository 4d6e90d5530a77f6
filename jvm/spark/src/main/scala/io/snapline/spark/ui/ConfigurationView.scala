package io.snapline.spark.ui

import scala.xml.NodeSeq

import io.snapline.checkpoint.CoordinatorSettings
import io.snapline.spark.ui.Html.Column
import io.snapline.spark.ui.page.Request

/** The settings that the query was started with. */
private[ui] object ConfigurationView extends QueryView {
  override val name = "configuration"
  override val title = "Configuration"

  override def rest(query: QueryRecord): String = s"/${query.start}/config"

  override def render(query: QueryRecord, request: Request): NodeSeq = {
    val config = query.config
    val rows = Seq(
      ("Mode", "mode", config.mode),
      ("Interval", "interval", if (config.periodic) Display.duration(config.intervalMs) else "none: when asked for"),
      ("Timeout", "timeout", Display.duration(config.timeoutMs)),
      ("Minimum pause", "min-pause", Display.duration(config.minPauseMs)),
      ("Most at once", "max-concurrent-checkpoints", config.maxConcurrent.toString),
      ("Tolerable failures in a row", "tolerable-failed-checkpoints", config.tolerableFailures.toString),
      ("Checkpoints retained", "num-retained", config.retained.toString),
      ("Retention", "externalized-checkpoint-retention", config.retention)
    ).map { case (title, key, value) =>
      <tr><td>{title}</td><td><code>{CoordinatorSettings.Prefix + key}</code></td><td>{value}</td></tr>
    }
    val durability = "Durability" ->
      Html.text(if (config.durableBatches) "every batch; checkpoints are extra" else "at checkpoints only")
    Html.facts(durability) ++
      Html.table("configuration-table", Html.head(Seq("Name", "Setting", "Value").map(Column(_))), rows)
  }
}
