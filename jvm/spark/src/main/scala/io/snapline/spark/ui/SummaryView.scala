package io.snapline.spark.ui

import scala.xml.{Node, NodeSeq}

import io.snapline.checkpoint.history.{Percentiles, Summary}
import io.snapline.spark.ui.Html.Column
import io.snapline.spark.ui.page.Request

/** How long checkpoints took and how large they were. */
private[ui] final class SummaryView(store: CheckpointsStore) extends QueryView {
  override val name = "summary"
  override val title = "Summary"

  override def render(query: QueryRecord, request: Request): NodeSeq = {
    val completed = store.checkpoints(query.start).filter(_.hasCompleted)
    val rows = Seq(
      row("End to end duration", query.duration, completed.map(_.duration), Display.duration),
      row("Checkpointed size", query.checkpointedSize, completed.map(_.checkpointedSize), Display.bytes),
      row("Full size", query.stateSize, completed.map(_.stateSize), Display.bytes),
      row("In-flight data", query.inFlightSize, completed.map(_.inFlightSize), Display.bytes)
    )
    Html.table("summary-table", Html.head(columns), rows) ++
      <p class="text-body-secondary">{
        s"Minimum, average and maximum of all ${Display.count(query.completed)} that completed; percentiles of the last ${Display.count(completed.size)}."
      }</p>
  }

  private val columns =
    Seq("", "Minimum", "Average", "50 %", "90 %", "95 %", "99 %", "99.9 %", "Maximum").map(Column(_))

  private def row(title: String, summary: Summary, values: Seq[Long], show: Long => String): Node = {
    val figures = (summary.min +: summary.avg +: Percentiles(values).named.map(_._2)) :+ summary.max
    <tr><th scope="row">{title}</th>{
      figures.map(value => <td>{if (summary.count == 0) Display.None else show(value)}</td>)
    }</tr>
  }
}
