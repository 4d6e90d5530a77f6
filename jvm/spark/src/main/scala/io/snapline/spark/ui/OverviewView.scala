package io.snapline.spark.ui

import scala.xml.{Node, NodeSeq}

import io.snapline.checkpoint.history.{Percentiles, Summary}
import io.snapline.spark.ui.Html.Column
import io.snapline.spark.ui.page.Request

/** Counts, the latest of each kind, what is under way, and how it went. */
private[ui] final class OverviewView(store: CheckpointsStore) extends QueryView {
  override val name = "overview"
  override val title = "Overview"

  override def render(query: QueryRecord, request: Request): NodeSeq = {
    val checkpoints = store.checkpoints(query.start)
    val pending = checkpoints.filter(_.inProgress)
    counts(query) ++
      (if (pending.isEmpty) NodeSeq.Empty
       else <h4>In Progress</h4> ++
         Html.table("progress-table", Html.head(progressColumns), pending.map(progress(_, request)))) ++
      query.sink.fold(NodeSeq.Empty)(sink) ++
      <h4>Latest</h4> ++ Html.table("latest-table", Html.head(columns), latest(query, request)) ++
      CheckpointPlots.render(checkpoints)
  }

  private def counts(query: QueryRecord): NodeSeq = {
    val all = Seq(
      "Triggered" -> query.total,
      "In Progress" -> query.inProgress,
      "Completed" -> query.completed,
      "Failed" -> query.failed,
      "Restored" -> query.restored
    )
    val head = Html.head(all.map { case (title, _) => Column(title) })
    val counts = all.map { case (_, count) => Html.figure(Display.count(count)) }
    <h4>Counts</h4> ++ Html.table("counts-table", head, Seq(<tr>{counts}</tr>))
  }

  private val sinkColumns =
    Seq("", "Newest Batch", "Partitions With Rows", "Rows Written", "Rows Skipped").map(Column(_))

  private def sink(sink: SinkRecord): NodeSeq = {
    val figures = Seq(sink.batch, sink.partitions, sink.rowsWritten, sink.rowsSkipped)
    val cells = figures.map(figure => Html.figure(Display.count(figure)))
    <h4>Sink</h4> ++
      Html.table("sink-table", Html.head(sinkColumns), Seq(<tr><td>{sink.description}</td>{cells}</tr>))
  }

  private val progressColumns = Seq(
    Column("ID"),
    Column("Batch"),
    Column("Trigger Time"),
    Column("Acknowledged"),
    Column("Latest Acknowledgement")
  )

  private def progress(c: CheckpointRecord, request: Request): Node =
    <tr>
      <td>{CheckpointPage.link(request, c)}</td>
      <td>{c.batch}</td>
      {Html.figure(Display.time(c.triggeredMs))}
      <td>{HistoryView.acknowledged(c)}</td>
      {Html.figure(Display.time(c.latestAckMs))}
    </tr>

  private val columns =
    Seq(
      Column(""),
      Column("ID"),
      Column("Batch"),
      Column("Time"),
      Column("Duration"),
      Column("Checkpointed Size"),
      Column("Full Size"),
      Column("Details")
    )

  private def latest(query: QueryRecord, request: Request): Seq[Node] = {
    def one(kind: String, checkpoint: Option[CheckpointRecord], details: CheckpointRecord => NodeSeq): Node =
      checkpoint match {
        case None => none(kind)
        case Some(c) =>
          <tr>
          <td>{kind}</td>
          <td>{CheckpointPage.link(request, c)}</td>
          <td>{c.batch}</td>
          {Html.figure(Display.time(c.endedMs))}
          {Html.figure(Display.duration(c.duration))}
          {Html.figure(Display.bytes(c.checkpointedSize))}
          {Html.figure(Display.bytes(c.stateSize))}
          <td>{details(c)}</td>
        </tr>
      }
    Seq(
      one("Completed", query.latestCompleted, removed),
      one("Savepoint", query.latestSavepoint, removed),
      one("Failed", query.latestFailed, HistoryView.failure),
      query.latestRestored.fold(none("Restored")) { restored =>
        <tr>
          <td>Restored</td><td>{restored.id}</td><td></td>{
          Html.figure(Display.time(restored.atMs))
        }<td></td><td></td><td></td>
          <td>{if (restored.savepoint) "a savepoint" else ""}</td>
        </tr>
      }
    )
  }

  private def removed(c: CheckpointRecord): NodeSeq = Html.text(if (c.discarded) "discarded" else "")

  private def none(kind: String): Node = <tr><td>{kind}</td><td colspan="7">{Display.None}</td></tr>
}

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
